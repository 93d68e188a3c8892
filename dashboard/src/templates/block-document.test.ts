import { assert } from 'chai'
import fc from 'fast-check'
import { duplicateBlock, findBlock, insertBlock, moveBlock, removeBlock, stepBlock } from './block-actions.ts'
import {
  allBlocks,
  createBlock,
  createDocument,
  MAX_BLOCKS,
  readDocument,
  type BlockDocument,
} from './block-document.ts'

const ids = ({ blocks }: BlockDocument): string =>
  allBlocks(blocks)
    .map(({ id }) => id)
    .join(' ')
const top = (index: number) => ({ columnsId: null, side: 0, index }) as const

describe('block documents', () => {
  it('are read back as they were stored', () => {
    const document = insertBlock(createDocument(), 'columns', top(1)).document
    assert.deepEqual(readDocument(JSON.parse(JSON.stringify(document))), document)
  })

  const unreadable: readonly (readonly [string, unknown])[] = [
    ['null', null],
    ['a list', []],
    ['another version', { version: 2, blocks: [] }],
    ['blocks that are no list', { version: 1, blocks: {} }],
    ['an unknown block', { version: 1, blocks: [{ id: 'a', type: 'script' }] }],
    ['a block without id', { version: 1, blocks: [{ type: 'text' }] }],
    ['an id with markup', { version: 1, blocks: [{ type: 'text', id: '"><x' }] }],
    ['the same id twice', { version: 1, blocks: [createBlock('text', 'a'), createBlock('text', 'a')] }],
    [
      'too many blocks',
      { version: 1, blocks: Array.from({ length: 201 }, (_, index) => createBlock('text', `b${index}`)) },
    ],
    [
      'columns in columns',
      { version: 1, blocks: [{ ...createBlock('columns', 'a'), columns: [[createBlock('columns', 'b')], []] }] },
    ],
  ]
  for (const [name, value] of unreadable)
    it(`are not read from ${name}`, () => {
      assert.isNull(readDocument(value))
    })

  it('have bounded numbers and real colours', () => {
    const block = {
      id: 'a',
      type: 'text',
      padding: 1e9,
      width: Number.NaN,
      color: 'red;}',
      align: 'javascript',
      text: 7,
    }
    const found = readDocument({ version: 1, style: { width: -4, accent: 'url(x)' }, blocks: [block] })
    const [read] = found?.blocks ?? []
    assert.deepEqual(
      [read?.padding, read?.width, read?.color, read?.align, read?.text, found?.style.width, found?.style.accent],
      [64, 100, null, 'left', '', 320, '#1f4fd8'],
    )
  })

  it('any JSON is read to a document or to nothing', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => void readDocument({ version: 1, blocks: [value] })))
  })
})

describe('changes to block documents', () => {
  const start = createDocument() // b1 b2 b3 b4

  it('move, duplicate and remove blocks', () => {
    assert.strictEqual(ids(stepBlock(start, 'b1', 1)), 'b2 b1 b3 b4')
    assert.strictEqual(ids(stepBlock(start, 'b1', -1)), 'b1 b2 b3 b4')
    assert.strictEqual(ids(stepBlock(start, 'b4', 1)), 'b1 b2 b3 b4')
    assert.strictEqual(ids(moveBlock(start, 'b1', top(4))), 'b2 b3 b4 b1')
    assert.strictEqual(ids(moveBlock(start, 'b4', top(0))), 'b4 b1 b2 b3')
    assert.strictEqual(ids(removeBlock(start, 'b2')), 'b1 b3 b4')
    assert.strictEqual(ids(duplicateBlock(start, 'b2').document), 'b1 b2 b5 b3 b4')
  })

  it('move blocks into columns and out of them, but not columns', () => {
    const { document } = insertBlock(start, 'columns', top(1)) // b1 b5 b2 b3 b4
    const inside = moveBlock(document, 'b2', { columnsId: 'b5', side: 1, index: 0 })
    assert.deepEqual(
      findBlock(inside, 'b5')?.columns[1].map(({ id }) => id),
      ['b2'],
    )
    assert.strictEqual(ids(stepBlock(inside, 'b2', 1)), 'b1 b5 b2 b3 b4')
    assert.strictEqual(ids(stepBlock(inside, 'b2', -1)), 'b1 b2 b5 b3 b4')
    assert.strictEqual(insertBlock(document, 'columns', { columnsId: 'b5', side: 0, index: 0 }).id, null)
    assert.strictEqual(moveBlock(document, 'b5', { columnsId: 'b5', side: 0, index: 0 }), document)
    const copied = duplicateBlock(inside, 'b5').document
    assert.strictEqual(new Set(ids(copied).split(' ')).size, 7)
    assert.isNotNull(readDocument(copied))
  })

  it('never exceed the limit', () => {
    const blocks = Array.from({ length: MAX_BLOCKS }, (_, index) => createBlock('text', `b${index}`))
    const full = { ...start, blocks }
    assert.strictEqual(insertBlock(full, 'text', top(0)).id, null)
    assert.strictEqual(duplicateBlock(full, 'b1').id, null)
  })
})
