-- One apply at a time; readers go on.
lock table dwh.module, dwh.source in share row exclusive mode
