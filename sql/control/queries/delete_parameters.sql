-- The parameters for all and those of modules are written anew with each apply; those of batches are not touched.
delete from dwh.parameter where batch is null
