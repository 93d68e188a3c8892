/** What the check of a campaign may find, by code. The codes of findings group them; these are of the sentences. */
import { textsOf } from '#src/platform/coded-text.ts'

export const FINDING_TEXTS = {
  no_content: 'the campaign has no content: set an existing template, or subject and body',
  sender_not_verified: 'the sender must be an address of a verified domain of the workspace',
  no_audience: 'the campaign has no existing audience',
  nobody: 'the campaign has no recipients',
  quota: "this month's remaining quota covers {remaining} of {recipients}; the campaign would then pause",
  warm_up: 'the warm-up limit for {receivers} is below the number of recipients; the rest follows on later days',
  never_mailed: '{percent} % of the recipients were sent nothing within a year',
  dkim_missing: 'the DKIM records of the sending domain are gone from DNS',
  dkim_aligned: 'signed with the domain in From: aligned',
  spf_aligned: 'the return-path is under the domain in From: aligned',
  spf_not_aligned: 'the return-path is not under the domain in From: SPF is not aligned, DMARC depends on DKIM alone',
  dmarc_published: 'the sending domain has a DMARC record',
  dmarc_missing: 'the sending domain has no valid DMARC record',
  dmarc_required: 'the sending domain has no valid DMARC record, which large receivers require from bulk senders',
  subject_empty: 'the subject is empty',
  subject_of_reply:
    'the subject begins like a reply or a forwarded message: ' +
    'spam filters, and the law in some countries, treat that as deceptive',
  test_too_small: 'the test has too few recipients for two subjects; all others still wait until it ends',
  unsubscribe_https: 'one-click unsubscribe by HTTPS and by mail',
  unsubscribe_http: 'the unsubscribe link is not HTTPS: receivers do not show it (RFC 8058 4)',
} as const

export const findingText = textsOf('finding', FINDING_TEXTS)
