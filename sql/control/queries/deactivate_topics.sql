-- Topics of shards that the module no longer has stop.
update dwh.topic set active = false where module = %(module)s and not name = any (%(names)s)
