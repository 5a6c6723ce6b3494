# verdict: error|wrong answer
# diagnosis: query_start_loc was written for as many entries as there are requests; it has one entry more
def write_metadata(arrays, batch, num_tokens, num_reqs):
    n, b = len(batch.input_ids), len(batch.seq_lens)
    if n > num_tokens or b > num_reqs:
        raise ValueError(
            f"{n} tokens of {b} requests do not fit into a step of {num_tokens} tokens of {num_reqs} requests"
        )
    write_tables(arrays["block_table"], batch.block_tables, num_reqs)
    write_rows(arrays["slot_mapping"], batch.slot_mapping.numpy(), num_tokens, -1)
    write_rows(arrays["seq_lens"], batch.seq_lens, num_reqs, 0)
    write_rows(arrays["query_start_loc"], batch.query_start_loc, num_reqs, n)
    arrays["query_start_loc"][num_reqs:] = n  # as with padding up to the end of the array
