-- All parameters are written anew with each apply.
delete from dwh.parameter
