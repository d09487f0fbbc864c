-- Placeholder: the migration of this number comes from another branch.
select 1;
