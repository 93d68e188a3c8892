/** What notices say, by code. They are stored as sentences; what a receiver said has no code. */
import { createSentenceFinder } from '#src/platform/sentence-codes.ts'

export const NOTICE_TEXTS = {
  receiver_suspended: 'rule {rule}, until {until}: {reply}',
  source_gone: '{address} has been on no sending host since {since}',
  backup_restored_range:
    'a backup was restored, or a standby took over; changes are missing from {from} until {until}; see "After ' +
    'you restore a backup" in docs/guides/operations.md',
  backup_restored:
    'a backup was restored, or a standby took over; changes are missing until {until}; see "After you restore a ' +
    'backup" in docs/guides/operations.md',
  certificate_expires: '{failures} requests failed; the certificate expires {at}: {problem}',
  certificate_missing: '{failures} requests failed; there is no certificate: {problem}',
  no_node_source:
    'no running node has one of its sources ({sources}), so the mail of its senders waits; start the node that ' +
    'has them, or add a source to the pool',
  suppressions_held: 'suppressions have been held since {since}',
  retention_late: '{what} should have been deleted {days} ago; see mailstead retention list',
  key_not_found:
    'the next DKIM key has not been found in DNS for a day, so the present one signs on: the owner of {domain} ' +
    'must publish the CNAME records that "mailstead domain verify {again}" lists',
  token_refused:
    'An invalid operator token was refused, last from {address}. Correct the client if it is yours. Otherwise ' +
    'somebody guesses: make /api/v1/admin unreachable from outside.',
  clock_poor:
    "the clock of this machine is {difference} PostgreSQL's. Mail is sent, but certificates may be refused. " +
    'Synchronise the clocks of both machines with NTP.',
  clock_wrong:
    "the clock of this machine is {difference} PostgreSQL's. Its processes accept and claim no mail. Synchronise " +
    'the clocks of both machines with NTP.',
} as const satisfies Readonly<Record<string, string>>

/** Null: the sentence has no code. */
export const findNoticeTranslation = createSentenceFinder('notice', NOTICE_TEXTS)
