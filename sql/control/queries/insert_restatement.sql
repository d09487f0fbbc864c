-- Store a restatement or rollback to be carried out. No row means that one is open already.
insert into dwh.restatement (topic_id, kind, first_seq, last_seq, status, reason, asked_by)
values (%(topic_id)s, %(kind)s, %(first)s, %(last)s, 'open', %(reason)s, %(who)s)
on conflict (topic_id) where status = 'open' do nothing
returning id
