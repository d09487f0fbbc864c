-- Topics whose lag exceeds the promise of their module now. One that has loaded nothing yet lags since it was initialised.
create view dwh.behind as
select s.topic, s.promise, l.lag, s.why
from dwh.status s
join dwh.topic t on t.name = s.topic
left join dwh.block b on b.topic_id = t.id and b.seq = 0 and b.status <> 'void'
cross join lateral (select coalesce(s.lag, now() - b.planned_at) as lag) l
where s.promise is not null and s.verdict <> 'INACTIVE' and l.lag > s.promise;
