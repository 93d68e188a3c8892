/** The renderer with real threads: a job that hangs or grows is terminated alone, and waiting jobs are only delayed. */
import { assert } from 'chai'
import { createRenderer, type Renderer } from './renderer.ts'
import type { RenderResult } from './template-source.ts'

const LIST = Array.from({ length: 20_000 }, (_, i) => i)
const ENDLESS = '{{#each a}}{{#each ../a}}{{#each ../../a}}{{/each}}{{/each}}{{/each}}'
const TOO_SLOW = { ok: false, reason: 'rendering it takes longer than 250 ms' }

let ids = 0

describe('the renderer', () => {
  let renderer: Renderer
  beforeEach(() => {
    renderer = createRenderer({ compileLimits: { compile: 700, render: 700 } })
  })
  afterEach(() => renderer.stop())

  function render(body: string, params: Record<string, unknown> = {}, id = `t${ids++}`): Promise<RenderResult> {
    return renderer.render({ template: { id, version: 1, subject: 'For {{name}}', html: body, text: null }, params })
  }

  it('renders subject and body', async () => {
    assert.deepEqual(await render('<p>{{name}}</p>', { name: 'A & B' }), {
      ok: true,
      subject: 'For A & B',
      html: '<p>A &amp; B</p>',
      text: null,
    })
  })

  it('does not escape in a text body', async () => {
    const result = await renderer.render({
      template: { id: 't', version: 1, subject: 's', html: null, text: '{{name}}' },
      params: { name: 'A & B' },
    })
    assert.deepEqual(result, { ok: true, subject: 's', html: null, text: 'A & B' })
  })

  it('renders many jobs at once, each with its own params', async () => {
    const results = await Promise.all(Array.from({ length: 500 }, (_, i) => render('{{i}}', { i }, `same${i % 3}`)))
    assert.deepEqual(
      results.map((result) => result.ok && result.html),
      Array.from({ length: 500 }, (_, i) => String(i)),
    )
  })

  it('renders one source with many params in order, and each fails by itself', async () => {
    const source = { key: 'many', subject: '{{n}}', html: '<p>{{upper n}}</p>', text: '{{n}} & {{n}}' }
    const results = await renderer.renderMany(source, [
      ...Array.from({ length: 200 }, (_, n) => JSON.stringify({ n: `n${n}` })),
      '{"n":{}}',
    ])
    const wanted = Array.from({ length: 200 }, (_, n) => ({
      ok: true,
      subject: `n${n}`,
      html: `<p>N${n}</p>`,
      text: `n${n} & n${n}`,
    }))
    assert.deepEqual(results, [...wanted, { ok: false, reason: 'the body, line 1: upper takes a text, not an object' }])
  })

  it('terminates the one render of many that never ends, and completes the others', async () => {
    const source = { key: 'some', subject: 's', html: ENDLESS, text: null }
    const results = await renderer.renderMany(source, ['{}', JSON.stringify({ a: LIST }), '{"a":[]}'])
    assert.deepEqual(results, [
      { ok: true, subject: 's', html: '', text: null },
      TOO_SLOW,
      { ok: true, subject: 's', html: '', text: null },
    ])
  })

  it('terminates a render that never ends, and continues with a new thread', async () => {
    assert.deepEqual(await render(ENDLESS, { a: LIST }), TOO_SLOW)
    assert.deepEqual(await render('fine'), { ok: true, subject: 'For ', html: 'fine', text: null })
  })

  it('terminates a render that needs too much memory', async () => {
    await renderer.stop()
    // on a slow machine 128 MB take longer than the 250 ms of a render
    renderer = createRenderer({ limits: { compile: 1000, render: 10_000 } })
    const result = await render('{{#each a}}{{upper ../b}}{{/each}}', {
      a: LIST.slice(0, 2000),
      b: 'y'.repeat(800_000),
    })
    assert.deepEqual(result, { ok: false, reason: 'it needs too much memory' })
    assert.deepEqual(await render('fine'), { ok: true, subject: 'For ', html: 'fine', text: null })
  })

  it('completes the other jobs of a batch, wherever the bad job is', async () => {
    const isBad = (i: number): boolean => i === 0 || i === 13 || i === 39
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, i) => (isBad(i) ? render(ENDLESS, { a: LIST }) : render('{{i}}', { i }))),
    )
    assert.deepEqual(
      results,
      results.map((_, i) => (isBad(i) ? TOO_SLOW : { ok: true, subject: 'For ', html: String(i), text: null })),
    )
  })

  it('pauses a template that was terminated three times in a row, and only that one', async () => {
    for (let i = 0; i < 3; i++) assert.deepEqual(await render(ENDLESS, { a: LIST }, 'bad'), TOO_SLOW)
    assert.deepEqual(await render(ENDLESS, { a: [] }, 'bad'), {
      ok: false,
      reason: 'rendering was terminated 3 times in a row; retry after 10 s',
    })
    assert.deepEqual(await render(ENDLESS, { a: [] }, 'good'), { ok: true, subject: 'For ', html: '', text: null })
  })

  it('does not pause a template that succeeded in between', async () => {
    for (const a of [LIST, LIST, [], LIST, LIST]) await render(ENDLESS, { a }, 'moody')
    assert.deepEqual(await render(ENDLESS, { a: [] }, 'moody'), { ok: true, subject: 'For ', html: '', text: null })
  })

  it('compiles templates, including those on which a parser never ends', async () => {
    const finish = async (subject: string, body: string): Promise<string> => {
      const finished = await renderer.compile('w', { subject, body, text: null, format: null }, {})
      return finished.ok ? 'fine' : finished.reason
    }
    assert.strictEqual(await finish('Hi {{name}}', '{{#if a}}x{{/if}}'), 'fine')
    assert.match(await finish('s', '\n{{foo bar}}'), /^the body, line 2: unknown helper "foo"/)
    assert.match(await finish('{{#if a}}', 'b'), /^the subject, line 1: cannot be read/)
    assert.strictEqual(
      await finish('s', '{{#if a}}'.repeat(7000) + '{{/if}}'.repeat(7000)),
      'compiling it takes longer than 700 ms',
    )
    assert.match(await finish('s', '{{#if a}}'.repeat(50_000)), /more than 15000 expressions/)
    assert.strictEqual(await finish('Hi', '<p>fine</p>'), 'fine')
  })

  const RUNAWAYS: readonly [what: string, body: string][] = [
    ['CSS with a cyclic custom property', '<style>:root{--a:var(--a)}p{color:var(--a)}</style><html><p>x</p></html>'],
    [
      'very many rules for very many elements',
      `<style>${'p p p p b{top:0}'.repeat(3000)}</style>${'<p>'.repeat(3000)}<b>x</b>`,
    ],
    [
      'MJML of very many elements',
      '<mjml><mj-body>' +
        '<mj-section><mj-column><mj-text>x</mj-text></mj-column></mj-section>'.repeat(14_000) +
        '</mj-body></mjml>',
    ],
  ]
  for (const [what, body] of RUNAWAYS) {
    it(`terminates ${what}, and compiles the next`, async () => {
      const [bad, good] = await Promise.all(
        [body, '<style>p{top:0}</style><p>'].map((one) =>
          renderer.compile('w', { subject: 's', body: one, text: null, format: null }, {}),
        ),
      )
      assert.match(
        bad?.ok === false ? bad.reason : 'fine',
        /^(?:compiling it takes longer than 700 ms|it needs too much memory)$/,
      )
      assert.strictEqual(good?.ok === true && good.html, '<style>p{top:0}</style><p style="top: 0;">')
      assert.deepEqual(await render('fine'), { ok: true, subject: 'For ', html: 'fine', text: null })
    })
  }

  it('rejects params that are too large or nested too deeply', async () => {
    let deep: Record<string, unknown> = {}
    for (let i = 0; i < 100_000; i++) deep = { deep }
    const refusal = { ok: false, reason: 'params are nested too deeply or larger than 1000000 characters' }
    assert.deepEqual(await render('x', { deep }), refusal)
    assert.deepEqual(await render('x', { a: 'x'.repeat(1_000_000) }), refusal)
  })

  it('rejects all waiting jobs when it stops', async () => {
    const waiting = [render(ENDLESS, { a: LIST }), render('a'), render('b')]
    const settled = Promise.allSettled(waiting)
    await new Promise(setImmediate)
    await renderer.stop()
    assert.deepEqual(
      (await settled).map((result) => result.status),
      ['rejected', 'rejected', 'rejected'],
    )
    await assert.isRejected(render('c'), /stopped/)
  })
})
