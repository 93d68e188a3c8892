import type { IconComponent } from '#dashboard/src/ui/icon.tsx'
import {
  Columns2,
  Heading,
  Image,
  Link,
  List,
  Minus,
  MousePointerClick,
  MoveVertical,
  Pilcrow,
} from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { BLOCK_TYPES, type BlockType } from './block-document.ts'

const ICONS: Readonly<Record<BlockType, IconComponent>> = {
  heading: Heading,
  text: Pilcrow,
  button: MousePointerClick,
  image: Image,
  list: List,
  divider: Minus,
  spacer: MoveVertical,
  columns: Columns2,
  footer: Link,
}

/** What may be dragged from the bar into the canvas: the type of a new block. */
export const DRAGGED_TYPE = 'application/x-mailstead-block-type'

/** Adds a block after the selected one, or by drag where it is dropped. */
export function BlockPalette({ onAdd }: { readonly onAdd: (type: BlockType) => void }): ReactNode {
  const { templates } = useTexts()
  return (
    <div role="toolbar" aria-label={templates.addBlock} className="flex flex-wrap gap-1.5">
      {BLOCK_TYPES.map((type) => (
        <Button
          key={type}
          size="sm"
          icon={ICONS[type]}
          draggable
          onDragStart={(event) => event.dataTransfer.setData(DRAGGED_TYPE, type)}
          onClick={() => onAdd(type)}
        >
          {templates.blocks[type]}
        </Button>
      ))}
    </div>
  )
}
