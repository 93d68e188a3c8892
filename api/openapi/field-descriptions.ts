/**
 * What each field of requests and responses means, for fields whose schema does not say it. One row describes a name
 * wherever it occurs. A row `parent.name` is more precise: for the field inside a component (`Domain.status`) or inside
 * another field (`quota.used`). A name in camelCase that has a row in snake_case is its twin. A test checks that every
 * field of the document has a description and that every row is used.
 */
import { CAMPAIGN_FIELDS } from './field-descriptions-campaigns.ts'
import { OPERATION_FIELDS } from './field-descriptions-operation.ts'
import { PEOPLE_FIELDS } from './field-descriptions-people.ts'
import { PARAMETER_FIELDS } from './field-descriptions-parameters.ts'

const SEND_FIELDS: Readonly<Record<string, string>> = {
  to: 'the addresses of the To header',
  'Message.to': 'the recipients: an address, `Name <address>`, `{email, name}`, or a list of them',
  cc: 'recipients of a copy, in the Cc header',
  bcc: 'recipients of a copy that no header names',
  from: 'the sender in the From header: its domain or account must be that of the key',
  from_name: 'the display name of the sender; wins over the one in `from`',
  reply_to: 'where replies go; `true` stands for the address of the tracking settings',
  subject: 'the subject, up to 998 characters; with a template it wins over the template’s',
  html: 'the HTML of the mail',
  text: 'the plain text of the mail; derived from the HTML if it is missing',
  'reply.text': 'the text of the reply',
  template_id: 'the id of the template',
  'Message.template_id': 'a stored template in place of `body`, `html` and `text`',
  params: 'the variables of the template',
  attachments: 'the files of the mail',
  filename: 'the name of the file',
  content: 'the octets of the file in base64',
  content_type: 'the media type; by default that of the extension of the name',
  content_id: 'the name by which HTML shows the file: `<img src="cid:…">`',
  headers: 'additional header fields, by name',
  'headers.value': 'the value of the header field',
  tags: 'words to find the object by',
  'Message.tags': 'up to 50 words to find the message by',
  metadata: 'values of yours that every event of the message repeats',
  'QueuedEmail.metadata': 'the tier, when delivery is expected, and the number of recipients',
  'AcceptedBatchItem.metadata': 'the tier, when delivery is expected, and the number of recipients',
  'ScheduledEmail.metadata': 'the tier, when delivery is expected, and the number of recipients',
  'WaitingEmail.metadata': 'the tier, when delivery is expected, and the number of recipients',
  track_opens: 'whether an image reports opens; null: as the workspace’s setting says',
  track_clicks: 'whether links report clicks; null: as the workspace’s setting says',
  expires_at: 'it is not valid after this time',
  'Message.expires_at': 'the message is not sent after this time',
  priority: 'the tier: instant, high, normal or bulk',
  recipients_count: 'the number of recipients in to, cc and bcc',
  object: 'the kind of object',
  queue: 'the queue of the tier; that of `normal` is `async`',
  job_id: 'the id of the message, as `em_…`',
  recipients: 'the recipients of the message, each with its state',
  'data.reviews': 'the newest first',
  'data.recipients': 'the recipients, each with its state',
  'QueuedEmail.recipients': 'the number of recipients',
  'AcceptedBatchItem.recipients': 'the number of recipients',
  'ScheduledEmail.recipients': 'the number of recipients',
  'metrics.recipients': 'recipients of the campaign',
  tier: 'the tier, which decides how soon a message is sent and how often it is tried',
  estimated_delivery: 'how soon delivery is expected',
  accepted: 'how many messages were accepted',
  refused: 'how many messages were refused',
  results: 'the result of each message, in the order of the request',
  scheduled_at: 'when it is sent',
  timezone: 'the time zone of times without an offset, such as Europe/Berlin',
  'Contact.timezone': 'the time zone of the contact, such as Europe/Berlin',
}

const MESSAGE_FIELDS: Readonly<Record<string, string>> = {
  email_id: 'the id of the message, as `em_…`',
  message_id: 'the id of the message; null if the event is about no message',
  recipient: 'the address of the recipient',
  address: 'the address',
  kind: 'what kind it is',
  'recipients.kind': 'the header that names the recipient: to, cc or bcc (in none)',
  state: 'the state',
  'recipients.state': 'the state of the recipient; the guide on sending lists them',
  'WebhookDelivery.state': 'the state of the delivery',
  reason: 'why, in words',
  tries: 'how many attempts were made',
  next_try_at: 'when the next attempt is due; null if none is',
  attempts: 'the attempts, the first one first',
  attempt: 'the number of the attempt, from 1',
  at: 'when it happened',
  outcome: 'the result of the attempt',
  scope: 'what the result is about: the recipient, the message or the receiver',
  reply: 'the reply of the receiver; null if there was none',
  code: 'the three-digit code of the reply',
  'findings.code': 'identifies the finding for programs',
  host: 'the host name of the server',
  tls: 'the TLS version and cipher; null without TLS',
  duration_ms: 'how long it took, in milliseconds',
  conversation: 'the SMTP dialog, line by line',
  events: 'the events, the oldest first',
  sequence: 'orders the events of one message',
  timestamp: 'when it happened',
  template: 'the template the message was made from',
  submission: 'how a complete message was submitted; null: the message was made from fields',
  version: 'the version, from 1; every change makes a new one',
  is_test: 'whether it is a test message of the template',
  campaign_id: 'the campaign that sent the message; null for other mail',
  until: 'until when it is held; null if that is not known',
  gate: 'what may hold a message, such as a suspension or a limit',
  holds: 'whether it holds the message now',
  says: 'what the check found',
  rule: 'the rule that decided',
  event: 'the type of the event',
  received_at: 'when the built-in receiver accepted it',
  mail_from: 'the envelope sender',
  dkim: 'the DKIM signatures with the result of their verification',
  'dkim.domain': 'the domain that signed (d=)',
  selector: 'the selector of the key (s=)',
  algorithm: 'the algorithm of the signature (a=)',
  result: 'the result',
  comment: 'why it did not pass',
  size: 'the size in bytes',
  deleted: 'how many were deleted',
  total_is_exact: 'false: there are more than `total`',
}

const COMMON_FIELDS: Readonly<Record<string, string>> = {
  success: 'true if the request was carried out',
  message: 'the result in words, for people',
  'details.message': 'what is wrong with the field',
  'findings.message': 'what was found, and what to do',
  error: 'the code of the error, for programs',
  'WebhookAttempt.error': 'why there was no response; null if there was one',
  data: 'the result',
  id: 'identifies it in other calls',
  name: 'the name',
  'Message.name': 'the display name',
  email: 'the e-mail address',
  value: 'the value',
  'errors.value': 'the value that was refused',
  status: 'the status',
  'QueuedEmail.status': '`queued`: the message is stored and waits to be sent',
  'ScheduledEmail.status': '`scheduled`: the message is stored and waits for its time',
  type: 'the type',
  created_at: 'when it was created',
  updated_at: 'when it was last changed',
  total: 'how many there are on all pages',
  page: 'the number of this page, from 1',
  limit: 'how many a page has at most',
  has_more: 'whether there is another page',
  total_pages: 'how many pages there are',
  meta: 'the same numbers in another form',
  emails: 'the messages of this page',
  'ImportSuppressionsBody.emails': 'the addresses, or entries, to add',
  next: 'the cursor of the next page; null on the last one',
  description: 'a description, for people',
  url: 'the URL',
  domain: 'the domain name',
  workspace_id: 'the id of the workspace',
  count: 'how many there are',
  errors: 'what could not be read, row by row',
  line: 'the number of the line, from 1',
  column: 'the name of the column',
  findings: 'what was found, the gravest first',
  level: 'how grave it is',
  detail: 'what was found',
  ok: 'whether it passed',
  steps: 'the steps, in order',
  step: 'the id of the step',
}

const TEMPLATE_FIELDS: Readonly<Record<string, string>> = {
  partials: 'the partials: pieces that several templates share',
  body: 'the source of the body, in HTML, MJML or text',
  templates: 'the templates',
  may_be_sent: 'whether messages can be sent with it',
  may_be_campaign: 'whether a campaign can use it: it has an unsubscribe link',
  format: 'the format',
  sample_data: 'variables for previews',
  category: 'a word of yours to group templates by',
  versions: 'the versions, the newest first',
}

const ALL: Readonly<Record<string, string>> = {
  ...SEND_FIELDS,
  ...MESSAGE_FIELDS,
  ...COMMON_FIELDS,
  ...TEMPLATE_FIELDS,
  ...CAMPAIGN_FIELDS,
  ...OPERATION_FIELDS,
  ...PARAMETER_FIELDS,
  ...PEOPLE_FIELDS,
}

/** The names of the rows, for the test that each is used. */
export const DESCRIBED_FIELDS: readonly string[] = Object.keys(ALL)

/** A field, the component or endpoint that it belongs to, and the field around it. */
export interface FieldPlace {
  readonly name: string
  readonly component: string
  readonly parent: string
}

/** The row that describes a field; null if there is none. */
export function findFieldRow({ name, component, parent }: FieldPlace): string | null {
  const twin = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const candidates = [component, parent].flatMap((owner) => [`${owner}.${name}`, `${owner}.${twin}`])
  return [...candidates, name, twin].find((one) => Object.hasOwn(ALL, one)) ?? null
}

/** The description of a field; null if no row describes it. */
export function describeField(place: FieldPlace): string | null {
  const row = findFieldRow(place)
  return row === null ? null : (ALL[row] ?? null)
}
