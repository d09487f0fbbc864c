-- Let the catalog point to the next metadata of one output table: its staged rows become visible when this transaction commits.
-- Returns the table's name. No row means that another writer published to the table since that metadata was made: make it
-- again from the new head and retry.
-- The comparison with the old location is what keeps a concurrent block's rows from being lost.
update iceberg.iceberg_tables
set metadata_location = %(new_location)s,
    previous_metadata_location = %(old_location)s
where catalog_name = 'dwh'
  and table_namespace = %(namespace)s
  and table_name = %(name)s
  and metadata_location = %(old_location)s
returning table_name;
