/** What is wrong, what to do, and the evidence of the next actions (action-rules.ts), by code. */
import { textsOf } from '#src/platform/coded-text.ts'

export const ACTION_TEXTS = {
  suspended: 'Mail to {receiver} is suspended.',
  suspended_from: 'Mail to {receiver} is suspended from {source}.',
  suspended_todo:
    'Correct what the reply names before mail is sent again; it resumes by itself at the end of the time.',
  slowed: '{receiver} accepts fewer connections than planned.',
  slowed_from: '{receiver} accepts fewer connections than planned from {source}.',
  slowed_todo: 'Nothing, if mail arrives in time: the limit rises by itself. Else lower the limit in the shaping file.',
  complaints: 'Recipients at {receiver} report too much mail as spam.',
  complaints_todo:
    'Find the campaign or workspace with the complaints, stop it, and send only to people who asked for it. ' +
    'Raise the volume again when the rate is below 0.1 %.',
  refused: '{receiver} refuses or defers mail because of its sender.',
  refused_todo: 'Read the reply: it names the reason, and often a page with the form to ask for help.',
  tls_failing: 'Mail to {receiver} waits because TLS fails.',
  tls_failing_todo:
    'Compare its MTA-STS policy, its TLSA records and its certificate; tell its postmaster what is wrong.',
  many_deferrals: '{receiver} defers much of its mail.',
  many_deferrals_todo: 'Read the reply. If it asks for less mail, lower the rate of this receiver in the shaping file.',
  warm_up_limit: '{source} has sent what its warm-up allows at {receiver} today.',
  warm_up_limit_todo: 'Nothing: the rest is sent tomorrow. Add sources to the pool if it must leave today.',
  unencrypted: 'Mail to {receiver} is sent without TLS.',
  unencrypted_todo:
    'Ask its postmaster for STARTTLS, or set a TLS level for its domains if its mail must be encrypted.',
  source_gone: 'The address of {source} is on no machine.',
  source_gone_todo: 'Add {address} to a machine that sends, or remove the source.',
  no_source_todo: 'Start a node that has a source of the pool, or add a source to it.',
  certificate_expired: 'The certificate of {name} has expired.',
  certificate_expiring: 'The certificate of {name} expires soon.',
  certificate_todo: 'Read why it is not renewed: mailstead certificate list',
  listed: 'A blocklist has the address of {source}.',
  many_bounces: 'Too many addresses of {sender} do not exist.',
  many_bounces_todo: 'Find the list that the addresses come from, and send only to people who confirmed theirs.',
  many_bounces_todo_of_operator: 'Ask the workspace where its addresses come from; pause it if nobody knows.',
  dmarc_failing: 'Mail of {domain} from {source} fails DMARC.',
  dmarc_failing_todo: 'Check the DKIM records and the MAIL FROM domain of {domain}: one of them must pass for it.',
  dmarc_unknown: '{address} sends mail of {domain} that fails DMARC.',
  dmarc_unknown_todo:
    'Find out who sends it. A service of yours: have it sign with DKIM for {domain}. ' +
    'A forger: set a stricter policy in the DMARC record.',
  operator_reply: 'A receiver reports a problem that only the operator can fix.',
  operator_reply_todo: 'Do what the reply says, and acknowledge the notice: mailstead notices',
} as const

export const actionText = textsOf('action', ACTION_TEXTS)

/** Numbers are written as in English. */
export const EVIDENCE_TEXTS = {
  until: 'until {at}',
  until_resumed: 'until the operator resumes it',
  rule: 'by the rule {rule}',
  connections: 'connections at a time: {count}',
  complaints: 'complaints of 7 days: {percent} % ({part} of {whole})',
  limit: 'limit: {percent} %',
  attempt_count: 'attempts of 24 hours: {count}',
  attempts: 'attempts of 24 hours: {percent} % ({part} of {whole})',
  reasons: 'reasons: {reasons}',
  deferrals: 'deferrals of 24 hours: {percent} % ({part} of {whole})',
  warm_up: 'step {step} of the warm-up: {taken} of {allowance}',
  encrypted: 'sent over TLS in 24 hours: {percent} % ({part} of {whole})',
  day: '24 hours: {delivered} delivered, {deferred} deferred',
  expires: 'expires at {at}',
  refused_attempts: '{receiver} refused or deferred in 24 hours: {attempts}',
  sent: 'sent in 24 hours: {count}',
  hard_bounces: 'hard bounces of 7 days: {percent} % ({part} of {whole})',
  dmarc_failed: 'failed in 7 days: {percent} % ({part} of {whole})',
  reporter: 'most of it reported by {reporter}',
  replies: 'replies: {count}',
} as const

export const evidenceText = textsOf('evidence', EVIDENCE_TEXTS)
