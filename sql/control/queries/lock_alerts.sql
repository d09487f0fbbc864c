-- One process looks for alerts at a time; the end of the transaction frees it. `mine` is false while another one looks.
select pg_try_advisory_xact_lock(hashtextextended('dwh.alert', 0)) as mine
