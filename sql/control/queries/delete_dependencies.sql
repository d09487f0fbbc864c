-- The dependencies of a module are written anew with each version.
delete from dwh.module_dependency where module = %(module)s
