-- Take a table out of the catalog: from now on nobody finds it. Its files stay until they are deleted. No row: it was not there.
delete from iceberg.iceberg_tables
where catalog_name = 'dwh' and table_namespace = %(namespace)s and table_name = %(name)s
returning table_name
