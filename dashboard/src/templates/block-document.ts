/**
 * The document of the block editor. It is stored as JSON beside the body of a template; what is read back may be of a
 * later version or damaged, so every field is checked and bounded, and an unknown block makes it unreadable as a whole.
 */
export const FONTS = ['sans', 'serif', 'mono'] as const
export const ALIGNMENTS = ['left', 'center', 'right'] as const
export const BLOCK_TYPES = [
  'heading',
  'text',
  'button',
  'image',
  'list',
  'divider',
  'spacer',
  'columns',
  'footer',
] as const
export const MAX_BLOCKS = 200
const MAX_TEXT = 20_000
const MAX_URL = 2000

export type Font = (typeof FONTS)[number]
export type Alignment = (typeof ALIGNMENTS)[number]
export type BlockType = (typeof BLOCK_TYPES)[number]

export interface DocumentStyle {
  readonly width: number
  readonly font: Font
  /** Around the mail. */
  readonly background: string
  /** Behind the blocks. */
  readonly surface: string
  readonly text: string
  /** Links and buttons. */
  readonly accent: string
}

/** Fields that a type of block does not use have their default. */
export interface Block {
  readonly id: string
  readonly type: BlockType
  /** Text with `**bold**`, `*italic*` and `[links](https://…)`; of a list one line for each item. */
  readonly text: string
  /** Of a button or an image: where it leads. */
  readonly href: string
  /** Of an image. */
  readonly src: string
  readonly alt: string
  readonly align: Alignment
  /** Above and below, px. */
  readonly padding: number
  /** Null: that of the document. */
  readonly color: string | null
  readonly background: string | null
  /** 1 to 3, of a heading. */
  readonly level: number
  /** Of an image: percent of the width. Of columns: that of the left one. */
  readonly width: number
  /** Of a spacer, px. */
  readonly height: number
  readonly isNumbered: boolean
  /** Of columns: two lists without further columns. */
  readonly columns: readonly [readonly Block[], readonly Block[]]
}

export interface BlockDocument {
  readonly version: 1
  readonly style: DocumentStyle
  readonly blocks: readonly Block[]
}

export const DEFAULT_STYLE: DocumentStyle = {
  width: 600,
  font: 'sans',
  background: '#f3f4f6',
  surface: '#ffffff',
  text: '#1f2937',
  accent: '#1f4fd8',
}

const DEFAULTS: Omit<Block, 'id' | 'type'> = {
  text: '',
  href: '',
  src: '',
  alt: '',
  align: 'left',
  padding: 12,
  color: null,
  background: null,
  level: 1,
  width: 100,
  height: 24,
  isNumbered: false,
  columns: [[], []],
}

const STARTS: Readonly<Partial<Record<BlockType, Partial<Block>>>> = {
  heading: { text: 'A short heading' },
  text: { text: 'Write your text here.' },
  button: { text: 'Open', href: 'https://example.com/', align: 'center' },
  list: { text: 'The first point\nThe second point' },
  columns: { width: 50 },
  footer: { text: '{{workspace.name}}', align: 'center', padding: 24, color: '#6b7280', href: '{{unsubscribeUrl}}' },
}

export function createBlock(type: BlockType, id: string): Block {
  const block = { ...DEFAULTS, ...STARTS[type], id, type }
  if (type === 'footer') return { ...block, alt: 'Unsubscribe' }
  return block
}

export function createDocument(): BlockDocument {
  const types = ['heading', 'text', 'button', 'footer'] as const
  const [heading, ...rest] = types.map((type, index) => createBlock(type, `b${index + 1}`))
  const blocks = [{ ...(heading as Block), text: 'Hello {{default firstName "there"}}' }, ...rest]
  return { version: 1, style: DEFAULT_STYLE, blocks }
}

/** Null: this editor cannot show it without losing something. */
export function readDocument(value: unknown): BlockDocument | null {
  if (!isRecord(value) || value['version'] !== 1 || !Array.isArray(value['blocks'])) return null
  const blocks = readBlocks(value['blocks'], true)
  if (blocks === null || allBlocks(blocks).length > MAX_BLOCKS) return null
  if (new Set(allBlocks(blocks).map(({ id }) => id)).size !== allBlocks(blocks).length) return null
  return { version: 1, style: readStyle(value['style']), blocks }
}

/** Including those in columns, in order. */
export function allBlocks(blocks: readonly Block[]): readonly Block[] {
  return blocks.flatMap((block) => [block, ...allBlocks(block.columns[0]), ...allBlocks(block.columns[1])])
}

function readBlocks(value: unknown, mayHaveColumns: boolean): readonly Block[] | null {
  if (!Array.isArray(value) || value.length > MAX_BLOCKS) return null
  const blocks = value.map((one: unknown) => readBlock(one, mayHaveColumns))
  return blocks.every((block) => block !== null) ? blocks : null
}

function readBlock(value: unknown, mayHaveColumns: boolean): Block | null {
  if (!isRecord(value)) return null
  const type = BLOCK_TYPES.find((one) => one === value['type'])
  const id = value['id']
  if (type === undefined || typeof id !== 'string' || !/^\w{1,40}$/.test(id)) return null
  if (type === 'columns' && !mayHaveColumns) return null
  const columns = readColumns(type === 'columns' ? value['columns'] : [[], []])
  if (columns === null) return null
  return {
    id,
    type,
    text: readText(value['text'], MAX_TEXT),
    href: readText(value['href'], MAX_URL),
    src: readText(value['src'], MAX_URL),
    alt: readText(value['alt'], MAX_URL),
    align: ALIGNMENTS.find((one) => one === value['align']) ?? DEFAULTS.align,
    padding: readNumber(value['padding'], 0, 64, DEFAULTS.padding),
    color: readColor(value['color']),
    background: readColor(value['background']),
    level: readNumber(value['level'], 1, 3, DEFAULTS.level),
    width: readNumber(value['width'], 10, 100, DEFAULTS.width),
    height: readNumber(value['height'], 4, 200, DEFAULTS.height),
    isNumbered: value['isNumbered'] === true,
    columns,
  }
}

function readColumns(value: unknown): Block['columns'] | null {
  if (!Array.isArray(value) || value.length !== 2) return null
  const [left, right] = [readBlocks(value[0], false), readBlocks(value[1], false)]
  return left === null || right === null ? null : [left, right]
}

function readStyle(value: unknown): DocumentStyle {
  const given = isRecord(value) ? value : {}
  return {
    width: readNumber(given['width'], 320, 800, DEFAULT_STYLE.width),
    font: FONTS.find((one) => one === given['font']) ?? DEFAULT_STYLE.font,
    background: readColor(given['background']) ?? DEFAULT_STYLE.background,
    surface: readColor(given['surface']) ?? DEFAULT_STYLE.surface,
    text: readColor(given['text']) ?? DEFAULT_STYLE.text,
    accent: readColor(given['accent']) ?? DEFAULT_STYLE.accent,
  }
}

function readText(value: unknown, max: number): string {
  return typeof value === 'string' ? value.slice(0, max) : ''
}

function readNumber(value: unknown, min: number, max: number, otherwise: number): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) return otherwise
  return Math.min(Math.max(Math.round(value), min), max)
}

function readColor(value: unknown): string | null {
  return typeof value === 'string' && /^#[0-9a-f]{6}$/i.test(value) ? value.toLowerCase() : null
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
