/**
 * The block editor: a canvas that looks like the mail, a bar that adds blocks, and the properties of what is selected.
 * Blocks move by drag, and with Alt and the arrow keys. It shows text only as text; the mail itself is in the preview.
 */
import { useState, type KeyboardEvent, type ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { TabPanel, Tabs } from '#dashboard/src/ui/tabs.tsx'
import {
  duplicateBlock,
  findBlock,
  insertBlock,
  moveBlock,
  placeOf,
  removeBlock,
  stepBlock,
  updateBlock,
  type BlockPlace,
  type Inserted,
} from './block-actions.ts'
import { BlockCanvas } from './block-canvas.tsx'
import type { BlockDocument, BlockType } from './block-document.ts'
import { BlockPalette } from './block-palette.tsx'
import { BlockProperties } from './block-properties.tsx'
import { DocumentProperties } from './document-properties.tsx'

interface BlockEditorProps {
  readonly document: BlockDocument
  readonly onChange: (document: BlockDocument) => void
  readonly isReadOnly: boolean
}

/** What the canvas and the panels call. */
export interface BlockCommands {
  select(id: string | null): void
  add(type: BlockType, place?: BlockPlace): void
  move(id: string, place: BlockPlace): void
  step(id: string, step: -1 | 1): void
  duplicate(id: string): void
  remove(id: string): void
}

function useBlockCommands({ document, onChange, isReadOnly }: BlockEditorProps) {
  const { templates } = useTexts()
  const [selectedId, setSelectedId] = useState<string | null>(null)
  const [announcement, announce] = useState('')
  const insert = ({ document: next, id }: Inserted, text: string): void => {
    if (id === null) return
    onChange(next)
    setSelectedId(id)
    announce(text)
  }
  const selected = findBlock(document, selectedId)
  const end: BlockPlace = { columnsId: null, side: 0, index: document.blocks.length }
  const after = selectedId === null ? null : placeOf(document, selectedId)
  const commands: BlockCommands = {
    select: setSelectedId,
    add: (type, place) => {
      const next = after === null ? end : { ...after, index: after.index + 1 }
      const inserted = insertBlock(document, type, place ?? next)
      // columns cannot be inside of columns
      insert(inserted.id === null ? insertBlock(document, type, end) : inserted, templates.blockAdded)
    },
    move: (id, place) => {
      onChange(moveBlock(document, id, place))
      announce(templates.blockMoved)
    },
    step: (id, step) => {
      onChange(stepBlock(document, id, step))
      announce(templates.blockMoved)
    },
    duplicate: (id) => insert(duplicateBlock(document, id), templates.blockAdded),
    remove: (id) => {
      onChange(removeBlock(document, id))
      setSelectedId(null)
      announce(templates.blockRemoved)
    },
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const isText = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement
    if (selectedId === null || isReadOnly || isText) return
    const actions: Record<string, (() => void) | undefined> = {
      'Alt+ArrowUp': () => commands.step(selectedId, -1),
      'Alt+ArrowDown': () => commands.step(selectedId, 1),
      Delete: () => commands.remove(selectedId),
      Backspace: () => commands.remove(selectedId),
      Escape: () => setSelectedId(null),
      'Mod+d': () => commands.duplicate(selectedId),
    }
    const prefix = event.altKey ? 'Alt+' : event.metaKey || event.ctrlKey ? 'Mod+' : ''
    const action = actions[prefix + event.key]
    if (action === undefined) return
    event.preventDefault()
    event.stopPropagation()
    action()
  }
  return { selected, selectedId, announcement, commands, onKeyDown }
}

export function BlockEditor(props: BlockEditorProps): ReactNode {
  const { document, onChange, isReadOnly } = props
  const { templates } = useTexts()
  const { selected, selectedId, announcement, commands, onKeyDown } = useBlockCommands(props)
  const [panel, setPanel] = useState<'block' | 'style'>('block')
  return (
    <div className="flex flex-col gap-4">
      {!isReadOnly && <BlockPalette onAdd={(type) => commands.add(type)} />}
      {/* keys of a selected block, which is a button of its own */}
      <div onKeyDown={onKeyDown} role="group" aria-label={templates.canvas}>
        <BlockCanvas document={document} selectedId={selectedId} commands={commands} isReadOnly={isReadOnly} />
      </div>
      <p aria-live="polite" className="sr-only">
        {announcement}
      </p>
      {!isReadOnly && (
        <div className="rounded-lg border border-line bg-surface px-4 pt-1 pb-4">
          <Tabs
            label={templates.properties}
            value={panel}
            onChange={setPanel}
            tabs={[
              { value: 'block', label: selected === null ? templates.block : templates.blocks[selected.type] },
              { value: 'style', label: templates.wholeMail },
            ]}
          >
            <TabPanel value="block">
              {selected === null ? (
                <p className="text-muted">{templates.selectBlock}</p>
              ) : (
                <BlockProperties
                  key={selected.id}
                  block={selected}
                  style={document.style}
                  onChange={(change) => onChange(updateBlock(document, selected.id, change))}
                />
              )}
            </TabPanel>
            <TabPanel value="style">
              <DocumentProperties
                style={document.style}
                onChange={(style) => onChange({ ...document, style: { ...document.style, ...style } })}
              />
            </TabPanel>
          </Tabs>
        </div>
      )}
    </div>
  )
}
