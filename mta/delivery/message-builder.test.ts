import { assert } from 'chai'
import type { Draft } from '#src/mime/draft.ts'
import { newId } from '#src/platform/id.ts'
import type { ClaimedRecipient, DeferredContentRef, LoadedContent, MessageBodies } from '#src/messages/claim.ts'
import { createLinks } from '#src/tracking/links.ts'
import { createTrackingTokens } from '#src/tracking/tokens.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { trackDraft } from '#mta/compose/tracked-draft.ts'
import { trackingEditsOf } from '#src/tracking/tracking-plan.ts'
import { buildMessage, createTrackingPlanner, type TrackedRecipient } from './message-builder.ts'

const encryption = createEncryption(Buffer.alloc(32, 7))
const links = createLinks({ encryption, config: { bounceDomain: 'b.example', hostedMailUrl: null } })
const REF = {
  base: 'https://t.example',
  messageId: newId(),
  n: 0,
  workspaceId: newId(),
  senderId: newId(),
  contactId: newId(),
  audienceId: null,
}
const OURS = [links.unsubscribe(REF), links.preferences(REF), links.view(REF)]
const HTML = `<a href="http://a.example/">${OURS.map((link) => `<a href="${link}">`).join('')}`
const DRAFT: Draft = {
  messageId: REF.messageId,
  createdAt: new Date(0),
  from: { email: 'a@b.example', name: null },
  replyTo: null,
  to: [],
  cc: [],
  subject: '',
  html: HTML,
  text: 'x',
  headers: [],
  attachments: [],
  raw: null,
}
const deferredContent: DeferredContentRef = { contentId: newId(), contactId: newId(), audienceId: null, params: null }
const about = (said: Partial<TrackedRecipient>): TrackedRecipient => ({
  messageId: REF.messageId,
  n: 4,
  workspaceId: REF.workspaceId,
  domainId: REF.senderId,
  deferredContent: null,
  submitted: null,
  trackOpens: null,
  trackClicks: null,
  ...said,
})
/** A draft with the tracking plan of its workspace's settings. */
const marking =
  (opens: boolean | null, clicks: boolean | null) =>
  async (draft: Draft, of: TrackedRecipient): Promise<Draft> => {
    const order = await createTrackingPlanner(links, {
      find: () => Promise.resolve({ opens, clicks, privacy: 'full', base: REF.base }),
    })(of)
    return order === null ? draft : trackDraft(draft, trackingEditsOf(order))
  }

const claimed = (change: Partial<ClaimedRecipient>, draft: Partial<Draft> = {}): ClaimedRecipient =>
  ({
    ...about({}),
    tier: 'bulk',
    address: 'anna@example.org',
    ...change,
    content: { ...DRAFT, ...draft, isLarge: false, compressed: null, hasAttachments: false, size: 10 },
  }) as unknown as ClaimedRecipient

/** The names of the custom headers that a message goes out with. */
async function headersOf(recipient: ClaimedRecipient): Promise<string[]> {
  const { drafts } = await build(recipient)
  return drafts.flatMap(({ headers }) => headers.map(([name]) => name))
}

interface Build {
  readonly drafts: readonly Draft[]
  /** Of each message that was signed. */
  readonly areUrgent: readonly boolean[]
}

async function build(recipient: ClaimedRecipient): Promise<Build> {
  const drafts: Draft[] = []
  const areUrgent: boolean[] = []
  const unused = (): never => assert.fail('not a step of this message')
  const built = await buildMessage(
    {
      now: () => 0,
      texts: unused,
      attachments: unused,
      fillIn: unused,
      messageRenderer: { render: unused },
      planTracking: () => Promise.resolve(null),
      seal: unused,
      feedbackFields: () => [],
      bulkHeaders: (one) => Promise.resolve(links.bulkUnsubscribe({ base: REF.base, ...one })),
      compose: (draft) => {
        drafts.push(draft)
        return Promise.resolve({ fields: [], head: '\r\n', body: Buffer.alloc(0), needsSmtputf8: false })
      },
      sign: ({ body }, _keys, isUrgent) => {
        areUrgent.push(isUrgent)
        return Promise.resolve(Buffer.from(body))
      },
    },
    recipient,
    [],
  )
  assert.strictEqual(built.kind, 'built')
  return { drafts, areUrgent }
}

describe('the signatures of a message', () => {
  for (const [tier, isUrgent] of [
    ['instant', true],
    ['high', false],
    ['normal', false],
    ['bulk', false],
  ] as const)
    it(`are ${isUrgent ? '' : 'not '}urgent in the tier ${tier}`, async () => {
      const { areUrgent } = await build(claimed({ tier }))
      assert.deepEqual(areUrgent, [isUrgent])
    })
})

describe('content that is no longer stored', () => {
  const LOST: readonly (readonly [what: string, content: Partial<LoadedContent>, texts: Partial<MessageBodies>])[] = [
    ['a body', { isBodyGone: true, html: null, text: null }, {}],
    [
      'a large body',
      { isLarge: true, html: null, text: null },
      { html: null, text: null, raw: null, isBodyGone: true },
    ],
    ['a body whose octets were damaged', { compressed: Buffer.alloc(100), html: null, text: null }, {}],
    ['attachments', { hasAttachments: true }, {}],
  ]
  for (const [what, content, texts] of LOST)
    it(`fails the message instead of sending it without: ${what}`, async () => {
      const unused = (): never => assert.fail('not a step of this message')
      const recipient = claimed({})
      const built = await buildMessage(
        {
          now: () => 0,
          texts: () => Promise.resolve(texts as MessageBodies),
          attachments: () => Promise.resolve([]),
          fillIn: unused,
          messageRenderer: { render: unused },
          planTracking: unused,
          bulkHeaders: unused,
          seal: unused,
          feedbackFields: unused,
          compose: unused,
          sign: unused,
        },
        { ...recipient, content: { ...recipient.content, ...content } },
        [],
      )
      assert.deepInclude(built.kind === 'ended' ? built.outcome : {}, { kind: 'failed', reason: 'content-gone' })
    })
})

describe('one-click unsubscribe (RFC 8058)', () => {
  const OWN = ['List-Unsubscribe', 'List-Unsubscribe-Post']
  it('is in bulk mail', async () => assert.deepEqual(await headersOf(claimed({})), OWN))
  it('is in no other mail', async () => {
    for (const tier of ['instant', 'high', 'normal'] as const) assert.deepEqual(await headersOf(claimed({ tier })), [])
  })
  it('leaves the own header of a sender and a complete message unchanged', async () => {
    const headers = [['list-unsubscribe', '<https://shop.example/leave>']] as const
    assert.deepEqual(await headersOf(claimed({}, { headers })), ['list-unsubscribe'])
    assert.deepEqual(await headersOf(claimed({}, { raw: Buffer.from('Subject: x\r\n\r\n') })), [])
  })
})

describe('tracking plan of a message', () => {
  it('changes nothing where neither opens nor clicks are tracked', async () => {
    assert.strictEqual(await marking(null, null)(DRAFT, about({})), DRAFT)
    assert.strictEqual(await marking(true, true)(DRAFT, about({ trackOpens: false, trackClicks: false })), DRAFT)
    assert.strictEqual(await marking(true, true)(DRAFT, about({ submitted: { from: 'a@b.example' } })), DRAFT)
    const text = { ...DRAFT, html: null }
    assert.strictEqual(await marking(true, true)(text, about({})), text)
  })
  it("tracks opens and clicks of this recipient, but not Mailstead's own links", async () => {
    const { html } = await marking(true, true)(DRAFT, about({}))
    for (const link of OURS) assert.ok(html?.includes(`"${link}"`), link)
    const [, token = ''] = /"https:\/\/t\.example\/c\/([\w-]+)\/[\w-]+"/.exec(html ?? '') ?? []
    assert.deepEqual(createTrackingTokens(encryption).readClick(token, 'http://a.example/'), {
      messageId: REF.messageId,
      n: 4,
      senderId: REF.senderId,
    })
    assert.ok(html?.includes(`<img src="${links.open({ ...REF, n: 4 })}"`))
  })
  it('tracks opens and clicks independently', async () => {
    const opened = await marking(true, null)(DRAFT, about({}))
    assert.ok(opened.html?.includes('/o/') && opened.html.includes('"http://a.example/"'))
    const clicked = await marking(true, null)(DRAFT, about({ trackOpens: false, trackClicks: true }))
    assert.ok(clicked.html?.includes('/c/') && !clicked.html.includes('/o/'))
  })
  it('tracks campaigns unless disabled, and mail by SMTP only on request', async () => {
    assert.notStrictEqual(await marking(null, null)(DRAFT, about({ deferredContent })), DRAFT)
    assert.strictEqual(await marking(false, false)(DRAFT, about({ deferredContent })), DRAFT)
    const raw = Buffer.from('Content-Type: text/html\r\n\r\n<a href="http://a.example/">')
    const submitted = await marking(null, null)(
      { ...DRAFT, html: null, raw },
      about({ submitted: { from: '' }, trackOpens: true, trackClicks: true }),
    )
    assert.match(
      submitted.raw?.toString() ?? '',
      /<a href="https:\/\/t\.example\/c\/.*<img src="https:\/\/t\.example\/o\//,
    )
  })
})
