/**
 * What can happen to a message on its way, and the outcome of its first attempt: one case per row of
 * docs/reference/delivery-outcomes.md. test/flows/outcome-table.test.ts arranges and runs each case.
 */
import type { OutcomeGroup } from './outcome-case.ts'
import { CONNECTION_CASES, DNS_CASES } from './outcome-cases-connection.ts'
import { REPLY_CASES } from './outcome-cases-reply.ts'
import { ENFORCED_TLS_CASES, TLS_CASES } from './outcome-cases-tls.ts'

export const OUTCOME_GROUPS: readonly OutcomeGroup[] = [
  { title: 'DNS', cases: DNS_CASES },
  { title: 'Connecting', cases: CONNECTION_CASES },
  { title: 'Replies', cases: REPLY_CASES },
  { title: 'Opportunistic TLS', cases: TLS_CASES },
  { title: 'Enforced TLS (`required`, MTA-STS `enforce`, DANE)', cases: ENFORCED_TLS_CASES },
]
