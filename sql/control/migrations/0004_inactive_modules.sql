-- The few modules that are switched off, found without reading them all: every claim asks for them.
create index module_inactive on dwh.module (name) where not active;
