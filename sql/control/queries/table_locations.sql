-- Every table of the catalog, and where its metadata lies now.
select table_namespace || '.' || table_name as name, metadata_location as location
from iceberg.iceberg_tables where metadata_location is not null order by 1
