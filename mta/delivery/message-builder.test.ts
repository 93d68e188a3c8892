import { assert } from 'chai'
import type { Draft } from '#mta/compose/draft.ts'
import { newId } from '#src/platform/id.ts'
import type { DeferredContentRef } from '#src/messages/claim.ts'
import { createLinks } from '#src/tracking/links.ts'
import { createTrackingTokens } from '#src/tracking/tokens.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { trackDraft } from '#mta/compose/tracked-draft.ts'
import { trackingEditsOf } from '#src/tracking/tracking-plan.ts'
import { createTrackingPlanner, type TrackedRecipient } from './message-builder.ts'

const encryption = createEncryption(Buffer.alloc(32, 7))
const links = createLinks({ encryption, config: { bounceDomain: 'b.example' } })
const REF = {
  base: 'https://t.example',
  messageId: newId(),
  n: 0,
  workspaceId: newId(),
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
