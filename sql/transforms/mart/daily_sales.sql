-- What this block adds to its day. The share keeps the position of its last item.
select
    max(struct(pos, id)).pos as pos,
    max(struct(pos, id)).id as id,
    to_date(from_utc_timestamp(pos, 'Europe/Berlin')) as day,
    channel,
    category,
    count(*) as items,
    sum(quantity) as units,
    cast(sum(amount) as decimal(18, 2)) as revenue
from {{ block }}
group by to_date(from_utc_timestamp(pos, 'Europe/Berlin')), channel, category
