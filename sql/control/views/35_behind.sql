-- Active topics whose lag exceeds the promise of their module now; `lag` as in dwh.status, but without judging every topic.
-- A topic that has loaded nothing yet lags since it was initialised.
create view dwh.behind as
select t.name as topic, m.promise, l.lag
from dwh.module m
join dwh.topic t on t.module = m.name
left join dwh.block b on t.watermark <= '0001-01-02' and b.tile = t.id and b.seq = 0
cross join lateral (select now() - coalesce(case when t.watermark > '0001-01-02' then t.watermark end, b.planned_at) as lag) l
where m.promise is not null and m.active and t.active and l.lag > m.promise;
comment on view dwh.behind is 'active topics whose lag exceeds the promise of their module now';
comment on column dwh.behind.topic is 'name of the topic: db.table[#tag][:shard]';
comment on column dwh.behind.promise is 'the lag that its file promises';
comment on column dwh.behind.lag is 'as in dwh.status; of a topic that has loaded nothing yet, since it was initialised';
