## query | plain selections
select * from {{ block }} ;;
select * from {{block}} ;;
SELECT * FROM {{ block }}; ;;
select b.* from {{ block }} b ;;
select b.* from {{ block }} as b ;;
select block.a, block.b from {{ block }} ;;
select pos, id, amount as value from {{ block }} ;;
select pos, id, amount value from {{ block }} where amount > 0 ;;
select all a from {{ block }} ;;
select distinct a, b from {{ block }} ;;
from {{ block }} select a, b ;;
from {{ block }} b select b.a where b.a > 1 ;;
(select * from {{ block }}) ;;
select * from (select * from {{ block }}) ;;
select * from ((select a from {{ block }}) x) ;;
select * except (a, b) from {{ block }} ;;
select a from {{ block }} where a > 1 and b < 2 or not c ;;
select a from {{ block }} order by a desc nulls last, b ;;
select a from {{ block }} order by all ;;
select a from {{ block }} limit 10 ;;
select a from {{ block }} limit 10 offset 5 ;;
select a from {{ block }} sort by a ;;
select a from {{ block }} distribute by a sort by b ;;
select a from {{ block }} cluster by a ;;
select 1 ;;
select 1 as a, 'x' as b, null as c, true as d ;;
values (1, 'a'), (2, 'b') ;;
select * from values (1, 'a'), (2, 'b') as v(id, name) ;;
select v.id from values (1), (2) v(id) ;;

## query | comments and layout
-- the newest price
select a from {{ block }} ;;
select a -- the price; not the cost
from {{ block }} ;;
/* sales
   by day */
select a from {{ block }} ;;
select a /* why; */ from {{ block }} /* where b */ ;;
select
    a,
    b
from
    {{ block }}
where
    a > 1 ;;
select a from {{ block }} -- {{ block }} ;;
select '{{ block }}' as t from {{ block }} ;;
select '-- no comment' as t, '/* nor this */' as u from {{ block }} ;;
select 'a;b' as t from {{ block }} ;;
select a	,	b from {{ block }} ;;

## query | words, strings and numbers
select 1., .5, 1e-5, 2.5e+3d, 10L, 7BD, 1.5bd, xs[0], t . a, `1st`, a.`b`, a.* from {{ block }} t ;;
select `a b`, `select`, `x.y` from {{ block }} ;;
select `a``b` from {{ block }} ;;
select `table`, b.table from {{ block }} b ;;
select 'it''s', 'it\'s', "double", "say \"x\"" from {{ block }} ;;
select r'\d+', R"\w", x'0aff', X'00' from {{ block }} ;;
select 'ünïcödé', '日本', '🙂' from {{ block }} ;;
select '' as empty, ' ' as space from {{ block }} ;;
select 1L, 2S, 3Y, 1.5BD, 2.5D, 1e3, .5, 1. from {{ block }} ;;
select -1, +2, - (3), ~4 from {{ block }} ;;
select date '2026-01-31', timestamp '2026-01-31 08:00:00', timestamp '2026-01-31T08:00:00Z' ;;
select interval 3 days, interval '1-2' year to month, interval '1 02:03:04' day to second ;;
select interval 1 hour 30 minutes, interval -2 weeks ;;
select pos + interval 1 day, pos - interval 2 hours from {{ block }} ;;
select reflect from {{ block }} ;;
select b.table as t, b.from as c, b.c * 2, count(*) as n, b.* from {{ block }} b group by all ;;
select 'and' as x, `and`.y, `or` as z, a * case when b then 1 else .5 end from {{ block }} ;;
select all *, a*-1, a::array<int> as d, date'2026-01-31' from {{ block }} ;;
select a.reflect, `reflect` from {{ block }} a ;;
select 'reflect(''x'')' as text from {{ block }} ;;
select 1 as `set`, 2 as `drop`, 3 as `insert` from {{ block }} ;;
select date, timestamp, value, name, type from {{ block }} ;;

## query | conditions
select a from {{ block }} where a = 1 and b <> 2 and c != 3 and d <=> e ;;
select a from {{ block }} where a between 1 and 2 and b not between 3 and 4 ;;
select a from {{ block }} where a in (1, 2, 3) and b not in ('x') ;;
select a from {{ block }} where (a, b) in ((1, 2), (3, 4)) ;;
select a from {{ block }} where a is null or b is not null ;;
select a from {{ block }} where a is true or b is not false ;;
select a from {{ block }} where a is distinct from b ;;
select a from {{ block }} where a is not distinct from b ;;
select a from {{ block }} where a like 'x%' and b not like '%y' ;;
select a from {{ block }} where a ilike 'X%' or b rlike '^[a-z]+$' ;;
select a from {{ block }} where a like any ('x%', 'y%') or b like all ('%a', '%b') ;;
select a from {{ block }} where a like 'x!%%' escape '!' ;;
select a from {{ block }} where not (a > 1 or b > 2) ;;
select a from {{ block }} where exists(tags, t -> t = 'x') ;;
select case when a > 1 then 'x' when a > 0 then 'y' else 'z' end as c from {{ block }} ;;
select case a when 1 then 'x' else 'y' end as c from {{ block }} ;;
select if(a > 1, b, c), coalesce(a, b, 0), nullif(a, 0), nvl(a, b), ifnull(a, 0) from {{ block }} ;;
select a > 1 as big, not b as other, a and b or c as mixed from {{ block }} ;;

## query | arithmetic and text
select a + b, a - b, a * b, a / b, a % b, a div b from {{ block }} ;;
select a & b, a | b, a ^ b, ~a from {{ block }} ;;
select round(a, 2), bround(a), floor(a), ceil(a), abs(a), sign(a) from {{ block }} ;;
select try_divide(a, b), try_add(a, b), try_subtract(a, b), try_multiply(a, b) from {{ block }} ;;
select power(a, 2), sqrt(a), exp(a), ln(a), log10(a), log(2, a) from {{ block }} ;;
select greatest(a, b, c), least(a, b, c), pmod(a, 3), mod(a, 3) from {{ block }} ;;
select a || b || 'x', concat(a, b), concat_ws(',', a, b) from {{ block }} ;;
select upper(a), lower(a), initcap(a), trim(a), ltrim(a), rtrim(a) from {{ block }} ;;
select trim(both 'x' from a), trim(leading 'x' from a), trim(trailing from a) from {{ block }} ;;
select substring(a, 1, 3), substr(a, 2), substring(a from 2 for 3), left(a, 2), right(a, 2) from {{ block }} ;;
select position('x' in a), position('x', a), locate('x', a), instr(a, 'x') from {{ block }} ;;
select overlay(a placing 'x' from 2 for 3) from {{ block }} ;;
select regexp_replace(a, '[^0-9]', ''), regexp_extract(a, '(\\d+)', 1), regexp_like(a, 'x') from {{ block }} ;;
select split(a, ',')[0], split_part(a, ',', 2), translate(a, 'ab', 'xy'), replace(a, 'x', 'y') from {{ block }} ;;
select lpad(a, 5, '0'), rpad(a, 5), repeat(a, 2), reverse(a), length(a), char_length(a) from {{ block }} ;;
select format_number(a, 2), format_string('%s-%d', a, b), printf('%s', a), space(3) from {{ block }} ;;
select md5(a), sha1(a), sha2(a, 256), crc32(a), hash(a, b), xxhash64(a) from {{ block }} ;;
select base64(a), unbase64(b), hex(a), unhex(b), encode(a, 'utf-8'), decode(b, 'utf-8') from {{ block }} ;;
select parse_url(a, 'HOST'), url_encode(a), url_decode(a), levenshtein(a, b), soundex(a) from {{ block }} ;;
select startswith(a, 'x'), endswith(a, 'y'), contains(a, 'z'), ascii(a), chr(65) from {{ block }} ;;

## query | types
select cast(a as int), cast(b as decimal(10, 2)), cast(c as string), cast(d as timestamp) from {{ block }} ;;
select a::int, b::decimal(10,2), c::string from {{ block }} ;;
select try_cast(a as int), int(a), string(b), double(c), bigint(d), date(e) from {{ block }} ;;
select cast(a as array<int>), cast(b as map<string,int>), cast(c as struct<x:int,y:string>) from {{ block }} ;;
select typeof(a), isnull(a), isnotnull(b), isnan(c), nanvl(c, 0) from {{ block }} ;;
select cast(null as double) as empty from {{ block }} ;;

## query | time
select current_date, current_date(), current_timestamp, current_timestamp(), now() from {{ block }} ;;
select date_trunc('day', pos), date_trunc('month', pos), trunc(d, 'MM') from {{ block }} ;;
select year(pos), month(pos), day(pos), hour(pos), minute(pos), second(pos), quarter(pos) from {{ block }} ;;
select extract(year from pos), extract(day from pos), date_part('hour', pos) from {{ block }} ;;
select to_date(a), to_date(a, 'yyyy-MM-dd'), to_timestamp(a), to_timestamp(a, 'yyyy') from {{ block }} ;;
select date_add(d, 1), date_sub(d, 1), datediff(d, e), add_months(d, 1), months_between(d, e) from {{ block }} ;;
select last_day(d), next_day(d, 'mon'), dayofweek(d), weekofyear(d), date_format(d, 'yyyy') from {{ block }} ;;
select from_unixtime(a), unix_timestamp(pos), timestamp_millis(a), unix_micros(pos) from {{ block }} ;;
select from_utc_timestamp(pos, 'Europe/Berlin'), to_utc_timestamp(pos, 'UTC'), convert_timezone('UTC', 'Asia/Tokyo', p) from {{ block }} ;;
select pos at time zone 'UTC' from {{ block }} ;;
select timestampdiff(hour, a, b), timestampadd(day, 1, a) from {{ block }} ;;
select w.start, count(*) from (select window(pos, '10 minutes') as w from {{ block }}) group by w ;;
select make_date(2026, 1, 31), make_timestamp(2026, 1, 31, 8, 0, 0), make_interval(1, 2) ;;

## query | nested values
select a.b.c, m['x'], xs[0], xs[i + 1] from {{ block }} ;;
select array(1, 2), map('a', 1), struct(a, b), named_struct('x', a, 'y', b) from {{ block }} ;;
select transform(xs, x -> x + 1), transform(xs, (x, i) -> x + i) from {{ block }} ;;
select filter(xs, x -> x > 1), forall(xs, x -> x > 1), exists(xs, x -> x is null) from {{ block }} ;;
select aggregate(xs, 0, (s, x) -> s + x), reduce(xs, 0, (s, x) -> s + x, s -> s / 2) from {{ block }} ;;
select zip_with(a, b, (x, y) -> x + y), arrays_zip(a, b) from {{ block }} ;;
select map_filter(m, (k, v) -> v > 1), transform_values(m, (k, v) -> v + 1), map_keys(m) from {{ block }} ;;
select array_contains(xs, 1), array_join(xs, ','), array_distinct(xs), array_sort(xs), size(xs) from {{ block }} ;;
select array_sort(xs, (l, r) -> case when l < r then -1 else 1 end) from {{ block }} ;;
select element_at(xs, 1), try_element_at(m, 'x'), slice(xs, 1, 2), flatten(ys), sequence(1, 5) from {{ block }} ;;
select from_json(j, 'a int, b string').a, get_json_object(j, '$.a.b'), to_json(struct(a, b)) from {{ block }} ;;
select from_json(j, 'array<struct<a:int>>')[0].a, json_array_length(j) from {{ block }} ;;
select from_csv(c, 'a int, b string').b, to_csv(struct(a, b)), schema_of_json('{"a":1}') from {{ block }} ;;
select parse_json(j), variant_get(parse_json(j), '$.a', 'int'), try_variant_get(v, '$.a', 'int') from {{ block }} ;;
select str_to_map(a, ',', ':'), map_from_arrays(a, b), map_entries(m), map_concat(m, n) from {{ block }} ;;
select explode(xs) as x from {{ block }} ;;
select id, posexplode(xs) as (i, x) from {{ block }} ;;
select inline(array(struct(1, 'a'), struct(2, 'b'))) from {{ block }} ;;
select stack(2, 'a', x, 'b', y) as (k, v) from {{ block }} ;;
select json_tuple(j, 'a', 'b') as (a, b) from {{ block }} ;;

## query | generators as tables
select b.id, t.x from {{ block }} b lateral view explode(b.xs) t as x ;;
select b.id, t.i, t.x from {{ block }} b lateral view outer posexplode(b.xs) t as i, x ;;
select * from {{ block }} lateral view explode(xs) t as x lateral view explode(ys) u as y ;;
select * from {{ block }} b, lateral (select b.a + 1 as c) ;;
select * from {{ block }} b join lateral (select max(c.v) m from dim.customer c where c.id = b.id) ;;
select * from {{ block }} b, lateral explode(b.xs) as t(x) ;;
select * from explode(array(1, 2, 3)) as e(x) ;;
select * from range(10) ;;
select id from range(0, 10, 2) r ;;
select * from {{ block }} cross join range(3) n ;;

## query | joins
select b.a, c.segment from {{ block }} b join dim.customer c on c.id = b.customer_id ;;
select b.a, c.segment from {{ block }} b inner join dim.customer c on c.id = b.customer_id and c.valid ;;
select b.a, c.segment from {{ block }} b left join dim.customer c using (id) ;;
select b.a from {{ block }} b left outer join dim.customer c using (id, day) ;;
select b.a from {{ block }} b right join dim.customer c on true ;;
select b.a from {{ block }} b full outer join dim.customer c on b.id = c.id ;;
select b.a from {{ block }} b left semi join dim.customer c on b.id = c.id ;;
select b.a from {{ block }} b left anti join dim.customer c on b.id = c.id ;;
select b.a from {{ block }} b semi join dim.customer c using (id) ;;
select b.a from {{ block }} b anti join dim.customer c using (id) ;;
select b.a from {{ block }} b cross join dim.customer c ;;
select b.a from {{ block }} b natural join dim.customer c ;;
select b.a from {{ block }} b, dim.customer c where b.id = c.id ;;
select customer.segment, block.a from {{ block }} join dim.customer on customer.id = block.id ;;
select * from {{ block }} a join {{ block }} b on a.id = b.parent_id ;;
select * from {{ block }} b join stage.sales s on s.id = b.id join dim.customer c on c.id = s.customer_id ;;
select * from {{ block }} b join (dim.customer c join stage.sales s on s.id = c.id) on c.id = b.id ;;
select /*+ broadcast(c) */ b.a from {{ block }} b join dim.customer c using (id) ;;
select /*+ merge(c), repartition(4) */ b.a from {{ block }} b join dim.customer c using (id) ;;
select /*+ shuffle_hash(c) */ b.a from {{ block }} b join dim.customer c using (id) ;;
select /*+ coalesce(2) */ a from {{ block }} ;;
select * from `stage`.`sales` s ;;
select * from Stage.Sales ;;

## query | subqueries and names given by WITH
with a as (select * from {{ block }}) select * from a ;;
with a as (select 1 x), b as (select x from a) select * from b join a using (x) ;;
with a (x, y) as (select 1, 2) select x from a ;;
with a as (with b as (select 1 x) select * from b) select * from a ;;
with sales as (select * from stage.sales) select * from sales ;;
with range as (select 1 x) select * from range ;;
select * from {{ block }} where id in (select id from dim.customer) ;;
select * from {{ block }} where id not in (select id from dim.customer where gone) ;;
select * from {{ block }} b where exists (select 1 from dim.customer c where c.id = b.id) ;;
select * from {{ block }} b where not exists (select 1 from dim.customer c where c.id = b.id) ;;
select (select max(id) from dim.customer) as newest, b.* from {{ block }} b ;;
select * from {{ block }} where amount > (select avg(amount) from stage.sales) ;;
select t.a from (select a, b from {{ block }} where a > 1) t where t.b < 2 ;;
select t.x from (select a from {{ block }}) t(x) ;;

## query | sums and windows
select count(*), count(a), count(distinct a, b), sum(a), avg(a), min(a), max(a) from {{ block }} ;;
select a, sum(b) as total from {{ block }} group by a having sum(b) > 10 ;;
select a, b, sum(c) from {{ block }} group by 1, 2 ;;
select a, sum(c) from {{ block }} group by all ;;
select a, b, sum(c), grouping(a), grouping_id(a, b) from {{ block }} group by rollup (a, b) ;;
select a, b, sum(c) from {{ block }} group by cube (a, b) ;;
select a, b, sum(c) from {{ block }} group by grouping sets ((a), (b), (a, b), ()) ;;
select a, b, sum(c) from {{ block }} group by a, b with rollup ;;
select sum(a) filter (where b > 1), count(*) filter (where c) from {{ block }} ;;
select count_if(a > 1), bool_and(b), every(b), any(c), some(c) from {{ block }} ;;
select max_by(a, b), min_by(a, b), first(a), last(a, true), any_value(a) from {{ block }} ;;
select first(a) ignore nulls, last_value(b) respect nulls from {{ block }} ;;
select collect_list(a), collect_set(b), array_agg(c), listagg(d, ',') from {{ block }} ;;
select listagg(a, ',') within group (order by b) from {{ block }} ;;
select percentile(a, 0.5), percentile_approx(a, 0.9), median(a), mode(b) from {{ block }} ;;
select percentile_cont(0.5) within group (order by a desc) from {{ block }} ;;
select stddev(a), variance(a), corr(a, b), covar_pop(a, b), skewness(a), kurtosis(a) from {{ block }} ;;
select approx_count_distinct(a), hll_sketch_estimate(hll_sketch_agg(b)) from {{ block }} ;;
select row_number() over (partition by a order by b desc) as n from {{ block }} ;;
select rank() over (order by a), dense_rank() over (order by a), ntile(4) over (order by a) from {{ block }} ;;
select lag(a) over (order by b), lead(a, 2, 0) over (order by b), nth_value(a, 2) over (order by b) from {{ block }} ;;
select sum(a) over (partition by b order by c rows between unbounded preceding and current row) from {{ block }} ;;
select avg(a) over (order by c range between interval 1 day preceding and current row) from {{ block }} ;;
select sum(a) over (rows between 2 preceding and 2 following) from {{ block }} ;;
select sum(a) over w, avg(a) over w from {{ block }} window w as (partition by b order by c) ;;
select sum(sum(a)) over (order by b) from {{ block }} group by b ;;
select * from {{ block }} qualify row_number() over (partition by id order by pos desc) = 1 ;;
select lag(a) ignore nulls over (order by b) from {{ block }} ;;

## query | sets
select a from {{ block }} union select a from stage.sales ;;
select a from {{ block }} union all select b from {{ block }} ;;
select a from {{ block }} union distinct select b from {{ block }} ;;
select a from {{ block }} intersect select id from dim.customer ;;
select a from {{ block }} except select id from dim.customer ;;
select a from {{ block }} minus select id from dim.customer ;;
select a from {{ block }} except all select id from dim.customer ;;
(select a from {{ block }} limit 1) union all (select a from {{ block }} limit 2) ;;
select a from {{ block }} union all by name select a from stage.sales ;;
select * from (select 1 a union all select 2) where a > 1 ;;

## query | turning columns into rows and back
select * from {{ block }} pivot (sum(a) for b in ('x', 'y')) ;;
select * from {{ block }} pivot (sum(a) as s, avg(a) as v for b in ('x' as x, 'y' as y)) ;;
select * from {{ block }} unpivot (v for k in (a, b, c)) ;;
select * from {{ block }} unpivot include nulls (v for k in (a as x, b as y)) ;;

## view | temporary views
create temporary view recent as select * from {{ block }} where pos > now() - interval 1 day ;;
create or replace temporary view recent as select 1 ;;
create temp view recent as (select 1) ;;
-- the newest customers
create or replace temp view Newest as
select * from dim.customer qualify row_number() over (partition by id order by valid_from desc) = 1 ;;
create temporary view v as with a as (select 1 x) select * from a ;;

## write | writes that may be repeated
insert overwrite log.seen select * from {{ block }} ;;
insert overwrite table log.seen partition (day = '2026-01-01') select a, b from {{ block }} ;;
insert overwrite log.seen values (1, 2) ;;
delete from log.seen where id in (select id from {{ block }}) ;;
delete from log.seen where day < '2026-01-01' ;;
merge into log.seen t using {{ block }} s on t.id = s.id when matched then update set t.x = s.x ;;
merge into log.seen t using (select * from {{ block }}) s on t.id = s.id when not matched then insert (id, x) values (s.id, s.x) ;;
merge into log.seen t using dim.customer s on t.id = s.id when matched and s.gone then delete when matched then update set x = s.x ;;
merge into log.seen t using dim.customer s on t.id = s.id when not matched by source then delete ;;

## predicate | conditions on one row
amount > 0 ;;
amount between 0 and 1000 and currency in ('EUR', 'USD') ;;
not isnull(customer_id) ;;
email like '%@%' or email is null ;;
length(name) <= 100 ;;
exists(tags, t -> t = 'x') ;;
name rlike '^[A-Z]' ;;
pos >= timestamp '2020-01-01 00:00:00' ;;
case when kind = 'refund' then amount < 0 else amount >= 0 end ;;
coalesce(gone, false) ;;
(a, b) in ((1, 2), (3, 4)) ;;
a <=> b ;;

## aggregate | sums of rows
sum(amount) ;;
count(*) ;;
count(distinct customer_id) ;;
sum(amount) / count(*) ;;
max(pos) - min(pos) ;;
sum(case when kind = 'refund' then 1 else 0 end) ;;
avg(amount) filter (where amount > 0) ;;
percentile(amount, 0.95) ;;
round(sum(amount), 2) ;;
first(a) ignore nulls ;;
