import { assert } from 'chai'
import type { Db } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { createWorkspace } from '#src/workspaces/workspaces.ts'
import { openDatabase, type OpenDatabase } from '#test/support/database.ts'
import { createRenderer, type Renderer } from './renderer.ts'
import {
  deleteTemplate,
  findTemplate,
  listTemplates,
  type SaveTemplateResult,
  saveTemplate,
  type Template,
  templateFields,
} from './store.ts'
import { listVersions } from './version-list.ts'
import { findTemplateVersion } from './versions.ts'

describe('stored templates', () => {
  let database: OpenDatabase
  let db: Db
  let renderer: Renderer
  let mine: string
  let theirs: string

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
    mine = (await createWorkspace(db, { name: 'Mine', plan: 'free' })).id
    theirs = (await createWorkspace(db, { name: 'Theirs', plan: 'free' })).id
  })

  function save(workspaceId: string, fields: object): Promise<SaveTemplateResult> {
    return saveTemplate(
      { db, renderer },
      workspaceId,
      templateFields.parse({ name: 'Welcome', subject: 'Hi', body: '<p>{{name}}</p>', ...fields }),
    )
  }

  async function saved(workspaceId: string, fields: object): Promise<Template> {
    const result = await save(workspaceId, fields)
    if (result.kind !== 'saved') assert.fail(result.kind)
    return result.template
  }

  it('keep the document of the block editor with the body that was made from it', async () => {
    const document = { blocks: [{ text: 'Hello' }] }
    const body = '<p>blocks</p>'
    const { id, document: stored } = await saved(mine, { body, document })
    assert.deepEqual(stored, document)
    const renamed = await saved(mine, { id, body, name: 'Other' })
    assert.deepEqual(renamed.document, document)
    const code = await saved(mine, { id, body: '<p>code</p>' })
    assert.isNull(code.document)
    const again = await saved(mine, { id, body, document })
    assert.deepEqual(again.document, document)
    const cleared = await saved(mine, { id, body, document: null })
    assert.isNull(cleared.document)
    const { items } = await listVersions(db, mine, id, { page: 1, limit: 10 })
    assert.deepEqual(
      items.map((version) => version.document),
      [null, document, null, document, document],
    )
  })

  it('are saved and found', async () => {
    const template = await saved(mine, { description: 'for new ones', category: 'onboarding' })
    assert.deepEqual(
      { ...template, createdAt: 0, updatedAt: 0 },
      {
        id: template.id,
        name: 'Welcome',
        subject: 'Hi',
        body: '<p>{{name}}</p>',
        text: null,
        format: 'html',
        sampleData: null,
        document: null,
        partials: {},
        description: 'for new ones',
        category: 'onboarding',
        version: 1,
        createdAt: 0,
        updatedAt: 0,
      },
    )
    assert.deepEqual(await findTemplate(db, mine, template.id), template)
    assert.deepEqual(await findTemplate(db, mine, template.id.toUpperCase()), template)
  })

  it('saving with an id creates the next version: omitted fields stay, null clears', async () => {
    const { id } = await saved(mine, { description: 'old', category: 'c' })
    const second = await saved(mine, { id, body: 'new', category: null })
    assert.deepEqual(
      { ...second, createdAt: 0, updatedAt: 0 },
      {
        id,
        name: 'Welcome',
        subject: 'Hi',
        body: 'new',
        text: null,
        format: 'text',
        sampleData: null,
        document: null,
        partials: {},
        description: 'old',
        category: null,
        version: 2,
        createdAt: 0,
        updatedAt: 0,
      },
    )
    await Promise.all(Array.from({ length: 5 }, () => save(mine, { id })))
    assert.strictEqual((await findTemplate(db, mine, id))?.version, 7)
  })

  it('keep every version unchanged, with its text and sample data', async () => {
    const { id } = await saved(mine, { body: '<p>{{a}}</p>', text: 'one', sample_data: { a: 1 } })
    const second = await saved(mine, { id, body: '<style>p{top:0}</style><p>{{b}}</p>', name: 'Second' })
    assert.deepEqual([second.text, second.sampleData, second.version], ['one', { a: 1 }, 2])
    const third = await saved(mine, { id, body: 'plain', sample_data: null })
    assert.deepEqual([third.text, third.sampleData, third.format], [null, null, 'text'])
    const found = async (version: number | null): Promise<unknown> => {
      const one = await findTemplateVersion(db, mine, id, version)
      return one === null ? null : [one.version, one.name, one.html, one.text]
    }
    assert.deepEqual(await Promise.all([1, 2, 3, null, 4].map(found)), [
      [1, 'Welcome', '<p>{{a}}</p>', 'one'],
      [2, 'Second', '<style>p{top:0}</style><p style="top: 0;">{{b}}</p>', 'one'],
      [3, 'Welcome', null, 'plain'],
      [3, 'Welcome', null, 'plain'],
      null,
    ])
    assert.strictEqual(await findTemplateVersion(db, theirs, id, 1), null)
    const { items: versions } = await listVersions(db, mine, id, { page: 1, limit: 2 })
    assert.deepEqual(
      versions.map(({ version, body }) => [version, body]),
      [
        [3, 'plain'],
        [2, '<style>p{top:0}</style><p>{{b}}</p>'],
      ],
    )
    assert.strictEqual(await deleteTemplate(db, mine, id), true)
    assert.strictEqual(await found(1), null)
  })

  it('from before formats existed render as they did', async () => {
    for (const [body, html, text] of [
      ['<style>p{top:0}</style><p>x</p>', '<style>p{top:0}</style><p>x</p>', null],
      ['1 < 2', null, '1 < 2'],
    ] as const) {
      const { id } = await saved(mine, { body })
      await db.query('UPDATE templates SET format = NULL, finished = NULL WHERE id = $1', [id])
      const found = await findTemplateVersion(db, mine, id, null)
      assert.deepEqual([found?.html, found?.text], [html, text])
    }
  })

  it('a text part beside a plain-text body is rejected', async () => {
    assert.deepEqual(await save(mine, { body: 'plain', text: 'other' }), {
      kind: 'invalid',
      reason: 'a plain-text body cannot have a separate text part',
    })
  })

  it('another workspace can neither read nor change them', async () => {
    const { id } = await saved(mine, {})
    assert.strictEqual(await findTemplate(db, theirs, id), null)
    assert.deepEqual(await save(theirs, { id, body: 'stolen' }), { kind: 'not-found' })
    assert.deepEqual(await listTemplates(db, theirs, { page: 1, limit: 10 }), { items: [], total: 0 })
    assert.strictEqual((await findTemplate(db, mine, id))?.body, '<p>{{name}}</p>')
  })

  it('are not found by an invalid id, and not updated by an unknown id', async () => {
    for (const id of ['', 'x', '1', `' OR true --`, newId()]) assert.strictEqual(await findTemplate(db, mine, id), null)
    assert.deepEqual(await save(mine, { id: newId() }), { kind: 'not-found' })
  })

  it('are listed newest first, in pages', async () => {
    const ids: string[] = []
    for (const name of ['a', 'b', 'c']) ids.unshift((await saved(mine, { name })).id)
    await saved(theirs, {})
    const first = await listTemplates(db, mine, { page: 1, limit: 2 })
    const second = await listTemplates(db, mine, { page: 2, limit: 2 })
    assert.deepEqual(
      [...first.items, ...second.items].map((template) => template.id),
      ids,
    )
    assert.deepEqual([first.total, second.total, second.items.length], [3, 3, 1])
  })

  it('are not stored if they cannot be compiled', async () => {
    const result = await save(mine, { body: '\n{{foo bar}}' })
    assert.strictEqual(
      result.kind === 'invalid' && result.reason.startsWith('the body, line 2: unknown helper "foo"'),
      true,
    )
    assert.strictEqual((await listTemplates(db, mine, { page: 1, limit: 10 })).total, 0)
  })

  const WRONG: readonly [what: string, fields: object][] = [
    ['no name', { name: undefined }],
    ['an empty name', { name: '  ' }],
    ['a name of two lines', { name: 'a\nb' }],
    ['a long name', { name: 'x'.repeat(256) }],
    ['no subject', { subject: undefined }],
    ['an empty subject', { subject: '' }],
    ['a subject of two lines', { subject: 'Hi\r\nBcc: x@example.com' }],
    ['no body', { body: undefined }],
    ['an empty body', { body: '' }],
    ['a body that is not a string', { body: { html: 'x' } }],
    ['NUL in the body', { body: 'a\0b' }],
    ['a huge body', { body: 'x'.repeat(1_000_001) }],
    ['an invalid id', { id: 'x' }],
    ['an unknown format', { format: 'pdf' }],
    ['sample data that is a list', { sample_data: [1] }],
    ['a document that is a list', { document: [] }],
    ['NUL in a document', { document: { a: '\0' } }],
    ['a document that is too large', { document: { a: 'x'.repeat(200_001) } }],
    ['NUL in sample data', { sample_data: { a: '\0' } }],
    ['sample data that is too large', { sample_data: { a: 'x'.repeat(100_001) } }],
    ['NUL in the text', { text: '\0' }],
    ['NUL in the description', { description: '\0' }],
  ]
  for (const [what, fields] of WRONG) {
    it(`are rejected with ${what}`, () => {
      assert.strictEqual(templateFields.safeParse({ name: 'n', subject: 's', body: 'b', ...fields }).success, false)
    })
  }
})
