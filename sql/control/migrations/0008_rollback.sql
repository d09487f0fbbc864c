-- Every value that a parameter for all ever had: who changed it, and when. A null type means that it was taken away.
create table dwh.parameter_version (
    id            bigint generated always as identity primary key,
    name          text not null,
    type          text,
    value         text,
    description   text,
    changed_by    text not null,
    changed_at    timestamptz not null default now()
);
