-- Web sales with the last campaign seen before them.
select
    s.pos,
    s.id,
    s.order_no,
    s.customer_id,
    s.amount,
    max_by(v.campaign, v.pos) as campaign,
    count(v.id) as views_before
from {{ block }} as s
left join fact.page_views as v
    on v.customer_id = s.customer_id
    and v.campaign is not null
    and v.pos <= s.pos
    and v.pos > s.pos - interval 30 minutes
where s.channel = 'web'
group by s.pos, s.id, s.order_no, s.customer_id, s.amount
