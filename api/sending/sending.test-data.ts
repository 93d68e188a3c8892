/** Forms of recipients and fields that a request may use, and what is stored. */

/** The row of a message, as far as tests read it. */
export interface Stored {
  from_email: string
  from_name: string | null
  reply_to: unknown
  to_list: unknown
  cc_list: unknown
  subject: string
  html: string | null
  body_text: string | null
  headers: unknown
  tags: string[] | null
  metadata: unknown
  track_opens: boolean | null
  track_clicks: boolean | null
  expires_at: Date | null
  tier: string
  recipient_count: number
  has_attachments: boolean
}

export const FORMS: readonly (readonly [rule: string, fields: object, expected: readonly string[]])[] = [
  ['to is a list', { to: ['a@b.example', 'c@d.example'] }, ['to a@b.example', 'to c@d.example']],
  ['to is one text', { to: 'a@b.example' }, ['to a@b.example']],
  [
    'to is a text with commas',
    { to: 'a@b.example, c@d.example,,"E, F" <e@f.example>' },
    ['to a@b.example', 'to c@d.example', 'to e@f.example'],
  ],
  [
    'to has objects {email, name?}',
    { to: [{ email: 'a@b.example' }, { email: 'c@d.example', name: 'C' }] },
    ['to a@b.example', 'to c@d.example'],
  ],
  ['to is one object', { to: { email: 'a@b.example' } }, ['to a@b.example']],
  ['to has strings Name <a@b>', { to: ['A <a@b.example>'] }, ['to a@b.example']],
  [
    'cc and bcc: the same forms',
    { to: 'a@b.example', cc: 'C <c@b.example>, d@b.example', bcc: [{ email: 'e@b.example' }] },
    ['to a@b.example', 'cc c@b.example', 'cc d@b.example', 'bcc e@b.example'],
  ],
  ['null and empty lists are no recipients', { to: 'a@b.example', cc: null, bcc: '' }, ['to a@b.example']],
  [
    'duplicate addresses in one message are sent once',
    { to: ['a@b.example', 'A@B.example'], cc: ['a@b.example', 'c@b.example'], bcc: ['C@b.example'] },
    ['to a@b.example', 'cc c@b.example'],
  ],
  ['an international domain is stored in A-labels', { to: 'a@bücher.example' }, ['to a@xn--bcher-kva.example']],
]

/** A rule, the fields of a request, and what the row contains; both are given the address of a sender. */
export const FIELDS: readonly (readonly [
  rule: string,
  fields: (from: string) => object,
  expected: (from: string) => Partial<Stored>,
])[] = [
  ['from is Name <a@b>', (from) => ({ from: `Me <${from}>` }), (from) => ({ from_email: from, from_name: 'Me' })],
  [
    'from is an object',
    (from) => ({ from: { email: from, name: 'Me' } }),
    (from) => ({ from_email: from, from_name: 'Me' }),
  ],
  ['from_name', () => ({ from_name: 'Me' }), (from) => ({ from_email: from, from_name: 'Me' })],
  ['fromName', () => ({ fromName: 'Me' }), () => ({ from_name: 'Me' })],
  [
    'from_name wins over the name in from',
    (from) => ({ from: `You <${from}>`, from_name: 'Me' }),
    () => ({ from_name: 'Me' }),
  ],
  ['reply_to', () => ({ reply_to: 'r@b.example' }), () => ({ reply_to: { email: 'r@b.example', name: null } })],
  [
    'reply_to with a name',
    () => ({ reply_to: 'R <r@b.example>' }),
    () => ({ reply_to: { email: 'r@b.example', name: 'R' } }),
  ],
  [
    'reply_to is an object',
    () => ({ reply_to: { email: 'r@b.example', name: 'R' } }),
    () => ({ reply_to: { email: 'r@b.example', name: 'R' } }),
  ],
  ['reply_to false is none', () => ({ reply_to: false }), () => ({ reply_to: null })],
  ['body: HTML is detected', () => ({ body: '<p>x</p>' }), () => ({ html: '<p>x</p>', body_text: null })],
  ['body: text is detected', () => ({ body: 'x < y' }), () => ({ html: null, body_text: 'x < y' })],
  ['html', () => ({ body: undefined, html: '<p>x</p>' }), () => ({ html: '<p>x</p>', body_text: null })],
  ['text', () => ({ body: undefined, text: 'x' }), () => ({ html: null, body_text: 'x' })],
  [
    'html and text together',
    () => ({ body: undefined, html: '<p>x</p>', text: 'x' }),
    () => ({ html: '<p>x</p>', body_text: 'x' }),
  ],
  ['is_html true', () => ({ body: 'x', is_html: true }), () => ({ html: 'x', body_text: null })],
  ['is_html false', () => ({ body: '<p>x</p>', is_html: false }), () => ({ html: null, body_text: '<p>x</p>' })],
  [
    'headers',
    () => ({ headers: { 'X-One': '1', 'In-Reply-To': '<a@b>', 'X-N': 5 } }),
    () => ({
      headers: [
        ['X-One', '1'],
        ['In-Reply-To', '<a@b>'],
        ['X-N', '5'],
      ],
    }),
  ],
  ['tags', () => ({ tags: ['a', 'b'] }), () => ({ tags: ['a', 'b'] })],
  [
    'tags with a name and a value',
    () => ({ tags: ['a', { name: 'category', value: 'welcome' }] }),
    () => ({ tags: ['a', 'category:welcome'] }),
  ],
  [
    'metadata',
    () => ({ metadata: { order: 5, name: 'x', isNew: true, none: null } }),
    () => ({ metadata: { order: 5, name: 'x', isNew: true, none: null } }),
  ],
  [
    'track_opens, track_clicks',
    () => ({ track_opens: true, track_clicks: false }),
    () => ({ track_opens: true, track_clicks: false }),
  ],
  ['tracking not said', () => ({}), () => ({ track_opens: null, track_clicks: null })],
  [
    'expires_at',
    () => ({ expires_at: '2999-01-01T00:00:00Z' }),
    () => ({ expires_at: new Date('2999-01-01T00:00:00Z') }),
  ],
  ['unknown fields are ignored', () => ({ colour: 'blue', $schema: {} }), () => ({ subject: 's' })],
  [
    'null is as good as left out',
    () => ({
      reply_to: null,
      from_name: null,
      html: null,
      template_id: null,
      params: null,
      attachments: null,
      headers: null,
      tags: null,
      metadata: null,
      expires_at: null,
      track_opens: null,
      is_html: null,
    }),
    () => ({ body_text: 'x', headers: null, tags: null, metadata: null }),
  ],
]
