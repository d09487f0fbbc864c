-- Store what was seen of a source, and what is wrong with a part of it. Its watermark never falls; `changed_at` is when its newest position last moved.
update dwh.source
set watermark = greatest(watermark, %(watermark)s),
    changed_at = case when newest_pos is distinct from %(newest)s or changed_at is null then %(seen_at)s else changed_at end,
    newest_pos = %(newest)s, seen_at = %(seen_at)s, problem = %(problem)s
where name = %(name)s
