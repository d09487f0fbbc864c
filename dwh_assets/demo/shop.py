"""What happens in the shop in one cell of time: pure functions of the seed and the cell, one per outside table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from math import ceil
from random import Random

from dwh_assets.demo.clock import Clock

Row = tuple[object, ...]
ID_STEP = 1_000_000  # ids of one cell and the next; a cell holds far fewer rows
TILL_IDS = 500_000  # receipts and web orders meet in one table: their ids are kept apart
NEW_CUSTOMER_EVERY = 5  # cells
NEWCOMER_CELLS = 600  # live: who joined longer ago does not come back, so a feed that was down need not make up for it
STOCK_ROUND = 12  # cells between two moves of the same product
CATEGORIES = ("coffee", "tea", "chocolate", "kitchen", "gifts")
SEGMENTS = ("new", "regular", "gold", "business")
CITIES = ("Hamburg", "Berlin", "Leipzig", "Köln", "München", "Freiburg")
SHOPS = ("Altona", "Mitte", "Ehrenfeld")
REGIONS = ("north", "south")
CAMPAIGNS = ("newsletter", "search", "social", "partner")
PAGES = ("home", "search", "product", "basket", "checkout")


@dataclass(frozen=True)
class Rates:
    """Rows of one cell, in the thin past and live."""

    past: float
    live: float


WEB, TILL, CLICKS, REFUNDS = Rates(26, 10), Rates(26, 12), Rates(15, 8), Rates(4, 4)


def money(cents: int) -> Decimal:
    return Decimal(cents).scaleb(-2)


@dataclass(frozen=True)
class Shop:
    seed: int
    clock: Clock
    scale: float = 1.0

    @property
    def customers(self) -> int:
        return max(10, round(500 * self.scale))

    @property
    def products(self) -> int:
        return max(STOCK_ROUND, round(60 * self.scale))

    @property
    def bad_file(self) -> int:
        """The cell of the past whose refund file has lost its order numbers."""
        return self.clock.past_cells * 2 // 3

    def rows(self, name: str, cell: int) -> Iterator[Row]:
        """The rows of one outside table that happen in this cell, whenever they arrive."""
        makers: dict[str, Callable[[Random, int], Iterator[Row]]] = {
            "crm.customer_changes": self._customer_changes,
            "crm.payments": self._payments,
            "stage.products": self._products,
            "stage.web_orders": self._web_orders,
            "stage.till_receipts": self._till_receipts,
            "stage.inventory_moves": self._inventory_moves,
            "stage.refunds": self._refunds,
            "stage.clicks": self._clicks,
        }
        return makers[name](self._random(name, cell), cell)

    def _random(self, name: str, cell: int) -> Random:
        return Random(f"{self.seed}/{name}/{cell}")  # noqa: S311 - repeatable on purpose

    def _count(self, random: Random, rates: Rates, cell: int) -> int:
        rate = (rates.past if self.clock.is_past(cell) else rates.live) * self.scale
        return random.randint(ceil(rate * 0.8), ceil(rate * 1.2))

    def _moment(self, random: Random, cell: int) -> datetime:
        milliseconds = int(self.clock.length(cell) / timedelta(milliseconds=1) * random.random())
        return self.clock.begin(cell) + timedelta(milliseconds=milliseconds)

    def _known_customers(self, cell: int) -> int:
        """Customers who joined in an earlier cell: only they buy, so a sale never comes before its customer."""
        return self.customers + max(0, cell - 1) // NEW_CUSTOMER_EVERY

    def _buyer(self, random: Random, cell: int) -> int:
        """A customer who joined before this cell: one of the past, or live also a newcomer."""
        known = self._known_customers(cell)
        if self.clock.is_past(cell):
            return random.randint(1, known)
        regulars = self._known_customers(self.clock.past_cells)
        first = max(regulars, self._known_customers(cell - NEWCOMER_CELLS)) + 1
        return random.randint(first, known) if first <= known and random.random() < 0.1 else random.randint(1, regulars)

    def _customer(self, random: Random, number: int, pos: datetime, id_: int, change: str) -> Row:
        segment = "new" if change == "joined" else random.choice(SEGMENTS[1:])
        return pos, id_, number, f"Customer {number}", segment, random.choice(CITIES), change

    def _customer_changes(self, random: Random, cell: int) -> Iterator[Row]:
        first = cell * ID_STEP
        if cell == 0:
            for number in range(1, self.customers + 1):
                yield self._customer(random, number, self.clock.start, number, "joined")
            return
        if cell % NEW_CUSTOMER_EVERY == 0:
            number = self.customers + cell // NEW_CUSTOMER_EVERY
            yield self._customer(random, number, self._moment(random, cell), first, "joined")
        if self.clock.is_past(cell) or cell % 3 == 0:
            number = self._buyer(random, cell)
            yield self._customer(random, number, self._moment(random, cell), first + 1, "changed")

    def _product(self, random: Random, number: int, pos: datetime, id_: int) -> Row:
        category = CATEGORIES[number % len(CATEGORIES)]
        cents = (300 + number * 37 % 2500) * random.randint(90, 110) // 100
        return pos, id_, number, f"{category.title()} no. {number}", category, money(cents)

    def _products(self, random: Random, cell: int) -> Iterator[Row]:
        if cell == 0:
            for number in range(1, self.products + 1):
                yield self._product(random, number, self.clock.start, number)
        elif self.clock.is_past(cell) or cell % 5 == 0:
            number = random.randint(1, self.products)
            yield self._product(random, number, self._moment(random, cell), cell * ID_STEP)

    def _web_orders(self, random: Random, cell: int) -> Iterator[Row]:
        for k in range(self._count(random, WEB, cell)):
            id_ = cell * ID_STEP + k
            customer, product = self._buyer(random, cell), random.randint(1, self.products)
            price = money(300 + product * 37 % 2500)
            voucher = "WELCOME10" if random.random() < 0.1 else None
            yield self._moment(random, cell), id_, id_, customer, product, random.randint(1, 4), price, voucher

    def _till_receipts(self, random: Random, cell: int) -> Iterator[Row]:
        for k in range(self._count(random, TILL, cell)):
            number = cell * ID_STEP + TILL_IDS + k
            pos = self._moment(random, cell).replace(microsecond=0)  # a till's clock shows seconds: many rows share a pos
            customer = self._buyer(random, cell) if random.random() < 0.4 else None
            product, quantity, shop = random.randint(1, self.products), random.randint(1, 3), random.choice(SHOPS)
            paid = money(quantity * (300 + product * 37 % 2500))
            yield pos, number, f"{shop[:2].upper()}-{number}", shop, customer, product, quantity, paid

    def _payments(self, random: Random, cell: int) -> Iterator[Row]:
        for order in self.rows("stage.web_orders", cell):
            pos, id_, order_id, customer, _, quantity, price, voucher = order
            assert isinstance(pos, datetime) and isinstance(quantity, int) and isinstance(price, Decimal)  # noqa: PT018
            cents = int(price * 100) * quantity * (90 if voucher else 100) // 100
            status = "declined" if random.random() < 0.02 else "captured"
            paid_at = pos + timedelta(milliseconds=random.randint(200, 3000))
            yield paid_at, id_, order_id, customer, money(cents), random.choice(("card", "invoice", "wallet")), status

    def _stock(self, region: str, product: int, turn: int) -> int:
        """The stock after the move of this turn; one turn in ten sells out."""
        level = Random(f"{self.seed}/stock/{region}/{product}/{turn}").randint(-4, 40)  # noqa: S311 - repeatable on purpose
        return max(0, level) if turn >= 0 else 0

    def _inventory_moves(self, random: Random, cell: int) -> Iterator[Row]:
        turn, place = divmod(cell, STOCK_ROUND)
        moved = [p for p in range(1, self.products + 1) if p % STOCK_ROUND == place]
        for k, (product, region) in enumerate((p, r) for p in moved for r in REGIONS):
            after = self._stock(region, product, turn)
            quantity = after - self._stock(region, product, turn - 1)
            reason = "delivery" if quantity > 0 else "sale"
            yield self._moment(random, cell), cell * ID_STEP + k, region, product, quantity, after, reason

    def _refunds(self, random: Random, cell: int) -> Iterator[Row]:
        """One file of refunds: its rows share one (pos, id), as a file arrives whole."""
        if cell == 0 or not (self.clock.is_past(cell) or cell % 20 == 0):
            return
        orders = list(self.rows("stage.web_orders", cell - 1))
        pos = self._moment(random, cell)
        for k in range(min(len(orders), self._count(random, REFUNDS, cell))):
            order, price = orders[k][2], orders[k][6]
            known = None if cell == self.bad_file else order
            yield pos, cell, f"R{cell}-{k}", known, price, random.choice(("damaged", "wrong size", "changed mind"))

    def _is_bot_wave(self, cell: int) -> bool:
        past = self.clock.past_cells
        return past // 2 <= cell < past * 3 // 5 if self.clock.is_past(cell) else (cell - past) // 60 % 10 == 7

    def _clicks(self, random: Random, cell: int) -> Iterator[Row]:
        anonymous = 0.7 if self._is_bot_wave(cell) else 0.2
        for k in range(self._count(random, CLICKS, cell)):
            customer = None if random.random() < anonymous else self._buyer(random, cell)
            session = f"s{cell}-{random.randint(0, 3)}"
            page, campaign = random.choice(PAGES), random.choice((*CAMPAIGNS, None))
            yield self._moment(random, cell), cell * ID_STEP + k, session, customer, page, campaign
