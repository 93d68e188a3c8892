/**
 * The render thread returns the same octets as composing and signing directly. A template that hangs fails only its
 * own message.
 */
import { generateKeyPairSync } from 'node:crypto'
import { assert } from 'chai'
import fc from 'fast-check'
import { newId } from '#src/platform/id.ts'
import { createEngine } from '#src/templates/engine.ts'
import type { TemplateSource } from '#src/templates/template-source.ts'
import { createLinks } from '#src/tracking/links.ts'
import { trackingEditsOf, type TrackingPlan } from '#src/tracking/tracking-plan.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { compose } from '#src/mime/compose.ts'
import type { MessageRenderJob } from './render-thread-job.ts'
import { createMessageRenderer, type MessageRenderer } from './render-thread.ts'
import { sign, type DkimKey } from './sign.ts'
import { trackDraft } from './tracked-draft.ts'

const links = createLinks({
  encryption: createEncryption(Buffer.alloc(32, 7)),
  config: { bounceDomain: 'b.example', hostedMailUrl: null },
})
const ref = {
  base: 'https://t.example',
  messageId: newId(),
  n: 0,
  workspaceId: newId(),
  senderId: newId(),
  contactId: newId(),
  audienceId: null,
}
const PLAN: TrackingPlan = { pixel: links.open(ref), clickSigner: links.clickSigner(ref) }
const FRAME: MessageRenderJob['frame'] = {
  messageId: ref.messageId,
  createdAt: new Date(1_700_000_000_000),
  from: { email: 'shop@s.example', name: 'Der Laden Ü' },
  replyTo: null,
  to: [{ email: 'ada@r.example', name: null }],
  cc: [],
  headers: links.listUnsubscribe(ref),
}
const AT = new Date(1_700_000_000_000)
const pem = generateKeyPairSync('rsa', { modulusLength: 2048 })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString()
const KEYS: readonly DkimKey[] = [
  { keyId: 'letters-test', domain: 's.example', selector: 'm1', algorithm: 'rsa-sha256', privateKey: pem },
]
const ENDLESS = '{{#each a}}{{#each ../a}}{{#each ../../a}}{{/each}}{{/each}}{{/each}}'

const sourceOf = (html: string | null, text: string | null = null): TemplateSource => ({
  key: newId(),
  subject: 'Hello {{name}}',
  html,
  text,
  generatesText: true,
})

describe('message renderer', () => {
  let renderer: MessageRenderer
  before(() => {
    renderer = createMessageRenderer()
  })
  after(() => renderer.stop())

  async function write(source: TemplateSource, params: object, plan: TrackingPlan | null): Promise<Buffer> {
    const message = await renderer.render(source, { params: JSON.stringify(params), frame: FRAME, trackingPlan: plan })
    assert.ok(message.ok, JSON.stringify(message))
    return sign(message, KEYS, AT)
  }

  /** On this thread, step by step. */
  async function writeHere(source: TemplateSource, params: object, plan: TrackingPlan | null): Promise<Buffer> {
    const rendered = createEngine().render(source, JSON.stringify(params))
    assert.ok(rendered.ok)
    const { subject, html, text } = rendered
    const draft = { ...FRAME, subject, html, text, attachments: [], raw: null }
    const composed = await compose(plan === null ? draft : trackDraft(draft, trackingEditsOf(plan)))
    return sign(composed, KEYS, AT)
  }

  it('gives the same octets as composing directly, tracked or not', () =>
    fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme', maxLength: 200 }),
        fc.webUrl(),
        fc.boolean(),
        fc.option(fc.string({ maxLength: 50 })),
        async (name, url, isTracked, text) => {
          const source = sourceOf(
            `<h1>{{name}}</h1>\n<a href="${url.replaceAll('"', '')}">there</a> ` +
              `<a href="${links.unsubscribe(ref)}">leave</a>`,
            text?.replaceAll('{', ''),
          )
          const plan = isTracked ? PLAN : null
          assert.deepEqual(await write(source, { name }, plan), await writeHere(source, { name }, plan))
        },
      ),
      { numRuns: 60 },
    ))

  it('returns a large body in its buffer, with room for the signatures', async () => {
    const source = sourceOf(`<p>{{name}}</p>${'<p>A newsletter of several words.</p>\n'.repeat(3000)}`)
    const job = { params: JSON.stringify({ name: 'Ü' }), frame: FRAME, trackingPlan: null }
    const message = await renderer.render(source, job)
    assert.ok(message.ok)
    const signed = await sign(message, KEYS, AT)
    assert.strictEqual(signed.buffer, message.body.buffer)
    assert.ok(signed.equals(await writeHere(source, { name: 'Ü' }, null)))
  })

  it('renders text-only messages and messages without any ASCII', async () => {
    for (const source of [sourceOf(null, 'Hallo {{name}}'), sourceOf(`<p>${'漢'.repeat(5000)}</p>`)])
      assert.deepEqual(await write(source, { name: 'Ä' }, PLAN), await writeHere(source, { name: 'Ä' }, PLAN))
  })

  it('an endless template and an invalid address fail their own messages only', async () => {
    const job = {
      params: JSON.stringify({ a: Array.from({ length: 20_000 }, (_, i) => i) }),
      frame: FRAME,
      trackingPlan: null,
    }
    const broken = { ...job, params: '{}', frame: { ...FRAME, from: { email: 'a b', name: null } } }
    const [endless, unwritable, fine] = await Promise.all([
      renderer.render(sourceOf(ENDLESS), job),
      renderer.render(sourceOf('<p>x</p>'), broken),
      renderer.render(sourceOf('<p>x</p>'), { ...job, params: '{}' }),
    ])
    assert.deepEqual(endless, { ok: false, reason: 'rendering it takes longer than 250 ms' })
    assert.ok(
      !unwritable.ok && unwritable.isRendered === true && unwritable.reason.startsWith('from: '),
      JSON.stringify(unwritable),
    )
    assert.ok(fine.ok)
  })

  it('messages of a template that hung three times in a row wait and do not fail', async () => {
    const source = sourceOf(ENDLESS)
    const hangs = {
      params: JSON.stringify({ a: Array.from({ length: 20_000 }, (_, i) => i) }),
      frame: FRAME,
      trackingPlan: null,
    }
    for (let i = 0; i < 3; i++) assert.strictEqual('pausedMs' in (await renderer.render(source, hangs)), false)
    const other = await renderer.render(source, { ...hangs, params: '{}' })
    assert.ok(!other.ok && (other.pausedMs ?? 0) > 0, JSON.stringify(other))
  })
})
