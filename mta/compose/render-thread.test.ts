/** Letters with their real thread: octet for octet what composing and signing make of the same texts, and a template that hangs ends alone. */
import { generateKeyPairSync } from 'node:crypto'
import { assert } from 'chai'
import fc from 'fast-check'
import { newId } from '#src/platform/id.ts'
import { createEngine } from '#src/templates/engine.ts'
import type { TemplateSource } from '#src/templates/template-source.ts'
import { createLinks } from '#src/tracking/links.ts'
import { trackingEditsOf, type TrackingPlan } from '#src/tracking/tracking-plan.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { compose } from './compose.ts'
import { assemble } from './draft.ts'
import type { MessageRenderJob } from './render-thread-job.ts'
import { createMessageRenderer, type MessageRenderer } from './render-thread.ts'
import { sign, type DkimKey } from './sign.ts'
import { trackDraft } from './tracked-draft.ts'

const links = createLinks({ encryption: createEncryption(Buffer.alloc(32, 7)), config: { bounceDomain: 'b.example' } })
const ref = {
  base: 'https://t.example',
  messageId: newId(),
  n: 0,
  workspaceId: newId(),
  contactId: newId(),
  audienceId: null,
}
const MARKS: TrackingPlan = { pixel: links.open(ref), clickSigner: links.clickSigner(ref) }
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

describe('letters', function () {
  this.timeout(30_000)
  let letters: MessageRenderer
  before(() => {
    letters = createMessageRenderer()
  })
  after(() => letters.stop())

  async function write(source: TemplateSource, params: object, marks: TrackingPlan | null): Promise<Buffer> {
    const letter = await letters.render(source, { params: JSON.stringify(params), frame: FRAME, trackingPlan: marks })
    assert.ok(letter.ok, JSON.stringify(letter))
    return assemble(letter, await sign(letter.digest, KEYS, AT))
  }

  /** On this thread, step by step. */
  async function writeHere(source: TemplateSource, params: object, marks: TrackingPlan | null): Promise<Buffer> {
    const rendered = createEngine().render(source, JSON.stringify(params))
    assert.ok(rendered.ok)
    const { subject, html, text } = rendered
    const draft = { ...FRAME, subject, html, text, attachments: [], raw: null }
    const composed = await compose(marks === null ? draft : trackDraft(draft, trackingEditsOf(marks)))
    return assemble(composed, await sign(composed, KEYS, AT))
  }

  it('are what composing makes of the same texts, tracked or not', () =>
    fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme', maxLength: 200 }),
        fc.webUrl(),
        fc.boolean(),
        fc.option(fc.string({ maxLength: 50 })),
        async (name, url, isTracked, text) => {
          const source = sourceOf(
            `<h1>{{name}}</h1>\n<a href="${url.replaceAll('"', '')}">there</a> <a href="${links.unsubscribe(ref)}">leave</a>`,
            text?.replaceAll('{', ''),
          )
          const marks = isTracked ? MARKS : null
          assert.deepEqual(await write(source, { name }, marks), await writeHere(source, { name }, marks))
        },
      ),
      { numRuns: 60 },
    ))

  it('of text alone, and of one that is nothing but foreign letters', async () => {
    for (const source of [sourceOf(null, 'Hallo {{name}}'), sourceOf(`<p>${'漢'.repeat(5000)}</p>`)])
      assert.deepEqual(await write(source, { name: 'Ä' }, MARKS), await writeHere(source, { name: 'Ä' }, MARKS))
  })

  it('are not made of what never ends, nor of an address that is none; those beside them are', async () => {
    const job = {
      params: JSON.stringify({ a: Array.from({ length: 20_000 }, (_, i) => i) }),
      frame: FRAME,
      trackingPlan: null,
    }
    const broken = { ...job, params: '{}', frame: { ...FRAME, from: { email: 'a b', name: null } } }
    const [endless, unwritable, fine] = await Promise.all([
      letters.render(sourceOf(ENDLESS), job),
      letters.render(sourceOf('<p>x</p>'), broken),
      letters.render(sourceOf('<p>x</p>'), { ...job, params: '{}' }),
    ])
    assert.deepEqual(endless, { ok: false, reason: 'rendering it takes longer than 250 ms' })
    assert.ok(
      !unwritable.ok && unwritable.isRendered === true && unwritable.reason.startsWith('from: '),
      JSON.stringify(unwritable),
    )
    assert.ok(fine.ok)
  })

  it('of a template that hung three times in a row wait, and fail for nothing that is known of them', async () => {
    const source = sourceOf(ENDLESS)
    const hangs = {
      params: JSON.stringify({ a: Array.from({ length: 20_000 }, (_, i) => i) }),
      frame: FRAME,
      trackingPlan: null,
    }
    for (let i = 0; i < 3; i++) assert.strictEqual('pausedMs' in (await letters.render(source, hangs)), false)
    const other = await letters.render(source, { ...hangs, params: '{}' })
    assert.ok(!other.ok && (other.pausedMs ?? 0) > 0, JSON.stringify(other))
  })
})
