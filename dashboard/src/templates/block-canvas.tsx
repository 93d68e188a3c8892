/** The blocks as they will look. One is selected by click or Enter; dropping shows a line where the block goes. */
import { ArrowDown, ArrowUp, Copy, GripVertical, Trash2 } from '#dashboard/src/ui/icons.tsx'
import { useState, type DragEvent, type ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { cx } from '#dashboard/src/ui/class-names.ts'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import type { BlockPlace } from './block-actions.ts'
import { BLOCK_TYPES, type Block, type BlockDocument } from './block-document.ts'
import type { BlockCommands } from './block-editor.tsx'
import { BlockFace } from './block-face.tsx'
import { fontFamily } from './block-html.ts'
import { DRAGGED_TYPE } from './block-palette.tsx'

interface CanvasProps {
  readonly document: BlockDocument
  readonly selectedId: string | null
  readonly commands: BlockCommands
  readonly isReadOnly: boolean
}

const DRAGGED_BLOCK = 'application/x-mailstead-block'

export function BlockCanvas(props: CanvasProps): ReactNode {
  const { style, blocks } = props.document
  return (
    <div
      className="overflow-x-auto rounded-lg border border-line p-4"
      style={{ background: style.background, fontFamily: fontFamily(style.font) }}
    >
      <div
        className="mx-auto rounded-lg"
        style={{ background: style.surface, color: style.text, maxWidth: style.width }}
      >
        <BlockList {...props} blocks={blocks} columnsId={null} side={0} />
      </div>
    </div>
  )
}

interface BlockListProps extends CanvasProps {
  readonly blocks: readonly Block[]
  readonly columnsId: string | null
  readonly side: 0 | 1
}

function BlockList(props: BlockListProps): ReactNode {
  const { blocks, columnsId, side, commands, isReadOnly } = props
  const { templates } = useTexts()
  const place = (index: number): BlockPlace => ({ columnsId, side, index })
  return (
    <ul className="flex flex-col">
      {blocks.map((block, index) => (
        <li key={block.id}>
          {!isReadOnly && <DropLine place={place(index)} commands={commands} />}
          <CanvasBlock {...props} block={block} />
        </li>
      ))}
      {!isReadOnly && (
        <li>
          <DropLine place={place(blocks.length)} commands={commands} isLarge={blocks.length === 0}>
            {blocks.length === 0 ? templates.emptyList : null}
          </DropLine>
        </li>
      )}
    </ul>
  )
}

interface DropLineProps {
  readonly place: BlockPlace
  readonly commands: BlockCommands
  readonly isLarge?: boolean
  readonly children?: ReactNode
}

/** Between two blocks: where a dragged one is dropped. */
function DropLine({ place, commands, isLarge = false, children }: DropLineProps): ReactNode {
  const [isOver, setOver] = useState(false)
  const accept = (event: DragEvent): void => {
    const { types } = event.dataTransfer
    if (!types.includes(DRAGGED_BLOCK) && !types.includes(DRAGGED_TYPE)) return
    event.preventDefault()
    setOver(true)
  }
  const drop = (event: DragEvent): void => {
    event.preventDefault()
    event.stopPropagation()
    setOver(false)
    const type = BLOCK_TYPES.find((one) => one === event.dataTransfer.getData(DRAGGED_TYPE))
    const id = event.dataTransfer.getData(DRAGGED_BLOCK)
    if (type !== undefined) commands.add(type, place)
    else if (id !== '') commands.move(id, place)
  }
  return (
    <div
      onDragOver={accept}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      className={cx('relative z-10', isLarge ? 'px-3 py-6 text-center text-sm' : '-my-2 h-4')}
    >
      <div className={cx('pointer-events-none absolute inset-x-0 top-1/2 h-0.5', isOver && 'bg-accent')} />
      {children}
    </div>
  )
}

function CanvasBlock(props: BlockListProps & { readonly block: Block }): ReactNode {
  const { block, document, selectedId, commands, isReadOnly } = props
  const { templates } = useTexts()
  const isSelected = block.id === selectedId
  const name = templates.blocks[block.type]
  return (
    <div className="group relative">
      <div
        role="button"
        tabIndex={0}
        aria-pressed={isSelected}
        aria-label={`${name}: ${block.text.slice(0, 80)}`}
        onClick={(event) => {
          event.stopPropagation()
          commands.select(block.id)
        }}
        onKeyDown={(event) => {
          if (event.target !== event.currentTarget || (event.key !== 'Enter' && event.key !== ' ')) return
          event.preventDefault()
          commands.select(block.id)
        }}
        className={cx(
          'cursor-pointer rounded-sm outline-offset-[-2px]',
          isSelected ? 'outline-2 outline-accent' : 'hover:outline-1 hover:outline-control',
        )}
      >
        {block.type !== 'columns' && <BlockFace block={block} style={document.style} />}
        {block.type === 'columns' && <span className="block px-6 pt-2 text-xs text-faint">{name}</span>}
      </div>
      {block.type === 'columns' && (
        <div className="flex px-6" style={{ paddingBlock: block.padding, background: block.background ?? undefined }}>
          {([0, 1] as const).map((side) => (
            <div
              key={side}
              className="min-w-0 outline-1 outline-line outline-dashed"
              style={{ width: `${side === 0 ? block.width : 100 - block.width}%` }}
            >
              <BlockList {...props} blocks={block.columns[side]} columnsId={block.id} side={side} />
            </div>
          ))}
        </div>
      )}
      {isSelected && !isReadOnly && <BlockTools block={block} commands={commands} name={name} />}
    </div>
  )
}

interface BlockToolsProps {
  readonly block: Block
  readonly commands: BlockCommands
  readonly name: string
}

function BlockTools({ block: { id }, commands, name }: BlockToolsProps): ReactNode {
  const { templates } = useTexts()
  return (
    <div className="absolute -top-3 right-2 z-20 flex items-center rounded-md border border-line bg-raised shadow-sm">
      <span
        draggable
        title={templates.drag}
        aria-hidden="true"
        className="flex h-7 cursor-grab items-center px-1 text-muted"
        onDragStart={(event) => event.dataTransfer.setData(DRAGGED_BLOCK, id)}
      >
        <GripVertical size={14} />
      </span>
      <IconButton size="sm" icon={ArrowUp} label={templates.moveUp(name)} onClick={() => commands.step(id, -1)} />
      <IconButton size="sm" icon={ArrowDown} label={templates.moveDown(name)} onClick={() => commands.step(id, 1)} />
      <IconButton size="sm" icon={Copy} label={templates.duplicate(name)} onClick={() => commands.duplicate(id)} />
      <IconButton size="sm" icon={Trash2} label={templates.removeBlock(name)} onClick={() => commands.remove(id)} />
    </div>
  )
}
