# verdict: wrong answer
# diagnosis: the batch was refused when some arrays had been written already: check everything before the first write
def write_metadata(arrays, batch, num_tokens, num_reqs):
    n = len(batch.input_ids)
    write_tables(arrays["block_table"], batch.block_tables, num_reqs)
    write_rows(arrays["slot_mapping"], batch.slot_mapping.numpy(), num_tokens, -1)
    write_rows(arrays["seq_lens"], batch.seq_lens, num_reqs, 0)
    write_rows(arrays["query_start_loc"], batch.query_start_loc, num_reqs + 1, n)
