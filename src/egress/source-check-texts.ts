/** What a check of a source finds, and what to do about it, by code (source-checks.ts). */
import { textsOf } from '#src/platform/coded-text.ts'
import { createSentenceFinder } from '#src/platform/sentence-codes.ts'

export const SOURCE_CHECK_TEXTS = {
  sandbox: 'not checked in sandbox mode',
  ptr: '{address} has the name {names}',
  ptr_missing: '{address} has no name (PTR)',
  ptr_todo: 'ask the provider of the address to set its PTR record to {name}',
  without_ptr: 'there is no PTR record',
  forward_wrong: '{name} does not resolve to {address}',
  forward_todo: 'add an {type} record for {name} with {address}, or have the PTR record set to {ehlo}',
  ehlo_missing: '{name} has no {type} record',
  ehlo_wrong: '{name} resolves to {found}, not {address}',
  resolves: '{name} resolves to {address}',
  ehlo_todo: 'add an {type} record for {name} with {address}',
  not_here: '{address} is not on this machine',
  port_open: 'port {port} of {target} can be reached',
  port_closed: 'port {port} of {target} cannot be reached from {address}',
  port_todo: 'ask your provider to open outgoing port 25 for this address, or remove the source',
  no_target: 'EGRESS_CHECK_TARGET is none',
  relayed: 'ROUTES sends all mail to another server',
  no_mail_server: 'no mail server of {target} has an {type} record',
  no_blocklist: 'BLOCKLISTS has no list for this address family',
  listed: '{zone} lists the address ({reasons})',
  listed_todo: 'find and fix the cause, then request removal: {pages}',
  blocklist_silent: '{zone} does not answer this resolver ({answer})',
  not_listed: 'listed on none of {count}',
  resolver_todo: 'set DNS_SERVERS to a resolver of your own that the list answers, or remove the list from BLOCKLISTS',
} as const

export const sourceCheckText = textsOf('source_check', SOURCE_CHECK_TEXTS)

/** Of the finding that was stored last. Null: it has several sentences, or none with a code. */
export const findSourceCheckTranslation = createSentenceFinder('source_check', SOURCE_CHECK_TEXTS)
