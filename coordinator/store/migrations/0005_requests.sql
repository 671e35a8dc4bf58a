-- What attempts ask of a machine, what they took, and what there is.

ALTER TABLE stage ADD COLUMN memory_mib INTEGER NOT NULL DEFAULT 0 CHECK (memory_mib >= 0); -- MiB that its next attempts need at least, since one ran out of memory; 0: what its sweep says.
ALTER TABLE stage ADD COLUMN gpu_memory_mib INTEGER NOT NULL DEFAULT 0 CHECK (gpu_memory_mib >= 0); -- The same of a GPU.
ALTER TABLE attempt ADD COLUMN gpu_thousandths INTEGER NOT NULL DEFAULT 0 CHECK (gpu_thousandths >= 0 AND gpu_thousandths <= 1000); -- Share of a GPU that it asked for; 0: none.
ALTER TABLE attempt ADD COLUMN memory_mib INTEGER NOT NULL DEFAULT 0 CHECK (memory_mib >= 0); -- MiB of the machine that it asked for; 0: it did not say.
ALTER TABLE attempt ADD COLUMN gpu_memory_mib INTEGER NOT NULL DEFAULT 0 CHECK (gpu_memory_mib >= 0); -- MiB of a GPU that it asked for; 0: it did not say.
ALTER TABLE attempt ADD COLUMN peak_memory_mib INTEGER; -- Most MiB of the machine that it held, as measured; NULL: not known.
ALTER TABLE attempt ADD COLUMN peak_gpu_memory_mib INTEGER; -- The same of its GPU.
ALTER TABLE worker ADD COLUMN memory_mib INTEGER NOT NULL DEFAULT 0 CHECK (memory_mib >= 0); -- MiB of the machine for all its slots; 0: not known.
ALTER TABLE worker ADD COLUMN device_memory_mib TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(device_memory_mib)); -- A list, MiB of the device of each slot; 0: not known.
