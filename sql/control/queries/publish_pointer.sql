-- Point the catalog at the next metadata of a table, where it still has the value that metadata was made from.
-- No row means that another writer published meanwhile: make the metadata again from the new head.
update iceberg.iceberg_tables
set metadata_location = %(new_location)s, previous_metadata_location = %(old_location)s
where catalog_name = 'dwh' and table_namespace = %(namespace)s and table_name = %(name)s
  and (metadata_location = %(old_location)s or not %(check_pointer)s)
returning table_name
