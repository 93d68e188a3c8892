/** Changes to a block document. Each returns a new document; one that is not possible returns the same. */
import { allBlocks, createBlock, MAX_BLOCKS, type Block, type BlockDocument, type BlockType } from './block-document.ts'

/** The top list, or one side of columns. */
export interface BlockPlace {
  /** Null: the top list. */
  readonly columnsId: string | null
  readonly side: 0 | 1
  readonly index: number
}

export interface Inserted {
  readonly document: BlockDocument
  readonly id: string | null
}

export function findBlock({ blocks }: BlockDocument, id: string | null): Block | null {
  return allBlocks(blocks).find((block) => block.id === id) ?? null
}

export function placeOf({ blocks }: BlockDocument, id: string): BlockPlace | null {
  const index = blocks.findIndex((block) => block.id === id)
  if (index !== -1) return { columnsId: null, side: 0, index }
  for (const block of blocks)
    for (const side of [0, 1] as const) {
      const inner = block.columns[side].findIndex((one) => one.id === id)
      if (inner !== -1) return { columnsId: block.id, side, index: inner }
    }
  return null
}

export function updateBlock(document: BlockDocument, id: string, change: Partial<Block>): BlockDocument {
  const changed = (block: Block): Block =>
    block.id === id
      ? { ...block, ...change }
      : { ...block, columns: [block.columns[0].map(changed), block.columns[1].map(changed)] }
  return { ...document, blocks: document.blocks.map(changed) }
}

export function insertBlock(document: BlockDocument, type: BlockType, place: BlockPlace): Inserted {
  const isFull = allBlocks(document.blocks).length >= MAX_BLOCKS
  if (isFull || !mayBeAt(type, place)) return { document, id: null }
  const id = nextId(document)
  return { document: insertAt(document, createBlock(type, id), place), id }
}

export function removeBlock(document: BlockDocument, id: string): BlockDocument {
  const without = (blocks: readonly Block[]): readonly Block[] =>
    blocks
      .filter((block) => block.id !== id)
      .map((block) => ({ ...block, columns: [without(block.columns[0]), without(block.columns[1])] }))
  return { ...document, blocks: without(document.blocks) }
}

export function duplicateBlock(document: BlockDocument, id: string): Inserted {
  const [block, place] = [findBlock(document, id), placeOf(document, id)]
  if (block === null || place === null) return { document, id: null }
  if (allBlocks(document.blocks).length + allBlocks([block]).length > MAX_BLOCKS) return { document, id: null }
  let number = Number(nextId(document).slice(1))
  const copy = (one: Block): Block => {
    const copied = { ...one, id: `b${number}` }
    number += 1
    return { ...copied, columns: [one.columns[0].map(copy), one.columns[1].map(copy)] }
  }
  const copied = copy(block)
  return { document: insertAt(document, copied, { ...place, index: place.index + 1 }), id: copied.id }
}

/** To a place as it is before the block leaves its own. */
export function moveBlock(document: BlockDocument, id: string, to: BlockPlace): BlockDocument {
  const [block, from] = [findBlock(document, id), placeOf(document, id)]
  if (block === null || from === null || !mayBeAt(block.type, to) || to.columnsId === id) return document
  const isSameList = from.columnsId === to.columnsId && from.side === to.side
  const index = isSameList && from.index < to.index ? to.index - 1 : to.index
  if (isSameList && index === from.index) return document
  return insertAt(removeBlock(document, id), block, { ...to, index })
}

/** One step up or down in its list; beyond the end of a column, out of the columns. */
export function stepBlock(document: BlockDocument, id: string, step: -1 | 1): BlockDocument {
  const from = placeOf(document, id)
  if (from === null) return document
  const index = from.index + (step === -1 ? -1 : 2)
  const size = listAt(document, from).length
  if (index >= 0 && index <= size) return moveBlock(document, id, { ...from, index })
  const outer = from.columnsId === null ? null : placeOf(document, from.columnsId)
  if (outer === null) return document
  return moveBlock(document, id, { ...outer, index: outer.index + (step === -1 ? 0 : 1) })
}

function listAt({ blocks }: BlockDocument, { columnsId, side }: BlockPlace): readonly Block[] {
  return columnsId === null ? blocks : (blocks.find(({ id }) => id === columnsId)?.columns[side] ?? [])
}

function mayBeAt(type: BlockType, { columnsId }: BlockPlace): boolean {
  return columnsId === null || type !== 'columns'
}

function insertAt(document: BlockDocument, block: Block, { columnsId, side, index }: BlockPlace): BlockDocument {
  const insert = (blocks: readonly Block[]): readonly Block[] => blocks.toSpliced(index, 0, block)
  if (columnsId === null) return { ...document, blocks: insert(document.blocks) }
  return {
    ...document,
    blocks: document.blocks.map((one) =>
      one.id === columnsId
        ? {
            ...one,
            columns: side === 0 ? [insert(one.columns[0]), one.columns[1]] : [one.columns[0], insert(one.columns[1])],
          }
        : one,
    ),
  }
}

/** Not `randomUUID`, which pages without https do not have. */
function nextId({ blocks }: BlockDocument): string {
  const numbers = allBlocks(blocks).map(({ id }) => Number(/^b(\d{1,9})$/.exec(id)?.[1] ?? 0))
  return `b${Math.max(0, ...numbers) + 1}`
}
