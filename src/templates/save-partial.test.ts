/**
 * Partials and the templates that use them, on PostgreSQL: saving a partial updates all templates or none, under
 * concurrent changes too.
 */
import { assert } from 'chai'
import type { Db } from '#src/stores/db.ts'
import { createWorkspace } from '#src/workspaces/workspaces.ts'
import { openDatabase, type OpenDatabase } from '#test/support/database.ts'
import { savePartial, type SavePartialResult } from './save-partial.ts'
import { deletePartial, findPartial } from './partial-store.ts'
import { createRenderer, type Renderer } from './renderer.ts'
import { type SaveTemplateResult, saveTemplate, templateFields } from './store.ts'
import { listVersions } from './version-list.ts'
import { findTemplateVersion } from './versions.ts'

describe('partials', () => {
  let database: OpenDatabase
  let db: Db
  let renderer: Renderer
  let workspace: string

  before(async () => {
    database = await openDatabase()
    db = database.db
    renderer = createRenderer({ threads: 1 })
  })
  after(async () => {
    await renderer.stop()
    await database.close()
  })
  beforeEach(async () => {
    workspace = (await createWorkspace(db, { name: 'W', plan: 'free' })).id
  })

  const partial = (name: string, body: string): Promise<SavePartialResult> =>
    savePartial({ db, renderer }, workspace, { name, body })
  const save = (fields: object): Promise<SaveTemplateResult> =>
    saveTemplate({ db, renderer }, workspace, templateFields.parse({ name: 'T', subject: 's', body: 'x', ...fields }))
  async function saved(fields: object): Promise<string> {
    const result = await save(fields)
    return result.kind === 'saved' ? result.template.id : assert.fail(JSON.stringify(result))
  }
  const htmlOf = async (id: string, version: number | null = null): Promise<string | null | undefined> => {
    const found = await findTemplateVersion(db, workspace, id, version)
    return found?.html ?? found?.text
  }

  it('concurrent changes of two partials of one template end with the last version of both', async () => {
    await partial('a', '<p>a0</p>')
    await partial('b', '<p>b0</p>')
    const id = await saved({ body: '{{> a}}{{> b}}' })
    for (let i = 1; i <= 4; i++)
      await Promise.all([
        partial('a', `<p>a${i}</p>`),
        partial('b', `<p>b${i}</p>`),
        save({ id, body: `{{> a}}{{> b}}` }),
      ])
    assert.strictEqual(await htmlOf(id), '<p>a4</p><p>b4</p>')
    const { items: versions, total } = await listVersions(db, workspace, id, { page: 1, limit: 50 })
    assert.strictEqual(total, 13)
    assert.deepEqual(
      versions.map(({ version }) => version),
      Array.from({ length: 13 }, (_, i) => 13 - i),
    )
    for (const { version, partials } of versions)
      assert.match(
        (await htmlOf(id, version)) ?? '',
        new RegExp(`^<p>a${(partials['a'] ?? 0) - 1}</p><p>b${(partials['b'] ?? 0) - 1}</p>$`),
      )
  })

  it('a template saved while its partial changes uses the new partial', async () => {
    await partial('foot', '<p>old</p>')
    const outcomes = await Promise.all([
      saved({ body: '<b>1</b>{{> foot}}' }),
      partial('foot', '<p>new</p>'),
      saved({ body: '<b>2</b>{{> foot}}' }),
    ])
    for (const id of [outcomes[0], outcomes[2]]) assert.match((await htmlOf(id)) ?? '', /<p>new<\/p>$/)
  })

  it('saving a template and deleting its partial at once: one of the two is refused', async () => {
    for (let i = 0; i < 5; i++) {
      await partial('foot', '<p>x</p>')
      const [template, deleted] = await Promise.all([
        save({ body: '{{> foot}}' }),
        deletePartial(db, workspace, 'foot'),
      ])
      assert.strictEqual(template.kind === 'saved', deleted.kind === 'used', `${template.kind} ${deleted.kind}`)
      if (template.kind === 'saved') await db.query('DELETE FROM templates WHERE id = $1', [template.template.id])
    }
  })

  it('a partial that one template cannot be compiled with changes nothing', async () => {
    await partial('foot', '<mj-section></mj-section>')
    const plain = await saved({ body: '<p>x</p>{{> foot}}' })
    const mjml = await saved({ name: 'M', body: '<mjml><mj-body>{{> foot}}</mj-body></mjml>' })
    const refused = await partial('foot', '\n<mj-wrong></mj-wrong>')
    assert.deepEqual(refused, {
      kind: 'invalid',
      reason:
        'the template "M" cannot be compiled with it: the body, line 2 of the partial foot: ' +
        "Element mj-wrong doesn't exist or is not registered",
    })
    assert.strictEqual((await findPartial(db, workspace, 'foot'))?.version, 1)
    for (const id of [plain, mjml])
      assert.strictEqual((await listVersions(db, workspace, id, { page: 1, limit: 10 })).total, 1)
  })

  it('a change that fails while it is stored leaves everything unchanged', async () => {
    await partial('foot', '<p>old</p>')
    const ids = [await saved({ body: '{{> foot}}1' }), await saved({ body: '{{> foot}}2' })]
    await db.query(`ALTER TABLE template_versions ADD CONSTRAINT no_more CHECK (finished NOT LIKE '%new%2') NOT VALID`)
    await assert.isRejected(partial('foot', '<p>new</p>'), /no_more/)
    await assert.isRejected(save({ id: ids[0], body: '<p>new</p>{{> foot}}2' }), /no_more/)
    await db.query('ALTER TABLE template_versions DROP CONSTRAINT no_more')
    assert.deepEqual([await htmlOf(ids[0] ?? ''), await htmlOf(ids[1] ?? '')], ['<p>old</p>1', '<p>old</p>2'])
    assert.strictEqual((await findPartial(db, workspace, 'foot'))?.body, '<p>old</p>')
  })

  it('names are case-sensitive and must be plain words', async () => {
    await partial('Foot', 'A')
    assert.strictEqual((await save({ body: '{{> foot}}' })).kind, 'invalid')
    const cases: readonly [body: string, reason: RegExp][] = [
      ['{{> Foot x=1}}', /the partial Foot takes no values/],
      ['{{> (lookup . "x")}}', /referenced by its name/],
      ['{{> "Foot"}}', /referenced by its name/],
      ['{{#> Foot}}x{{/Foot}}', /with a block/],
      ['{{> a/b}}', /referenced by its name/],
      ['{{> constructor}}', /line 1: there is no partial "constructor"/],
    ]
    for (const [body, reason] of cases) {
      const result = await save({ body })
      assert.match(result.kind === 'invalid' ? result.reason : 'saved', reason)
    }
    assert.strictEqual(
      await htmlOf(await saved({ body: '1{{> Foot}}2\\{{> Foot}}3{{~> Foot ~}}' })),
      '1A2\\{{> Foot}}3A',
    )
  })
})
