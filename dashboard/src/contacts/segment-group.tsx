/** A group of conditions, with groups inside it. */
import { FolderPlus, Plus, X } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { cx } from '#dashboard/src/ui/class-names.ts'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { SegmentedControl } from '#dashboard/src/ui/segmented-control.tsx'
import { SegmentCondition } from './segment-condition.tsx'
import { newCondition, newGroup, type GroupNode, type Match, type SegmentNode } from './segment-document.ts'

interface SegmentGroupProps {
  readonly node: GroupNode
  /** 0 is the outermost group, which cannot be removed. */
  readonly depth: number
  readonly onReplace: (key: number, next: SegmentNode | null) => void
}

const MATCHES: readonly Match[] = ['all', 'any', 'none']
/** The API takes six levels; a `none` needs two. */
const MAX_DEPTH = 2

export function SegmentGroup({ node, depth, onReplace }: SegmentGroupProps): ReactNode {
  const { segments } = useTexts()
  const add = (child: SegmentNode): void => onReplace(node.key, { ...node, children: [...node.children, child] })
  return (
    <fieldset
      className={cx('min-w-0 rounded-lg border border-line p-3 sm:p-4', depth % 2 === 0 ? 'bg-surface' : 'bg-sunken')}
    >
      <legend className="sr-only">{segments.group}</legend>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <SegmentedControl
          size="sm"
          label={segments.match}
          value={node.match}
          onChange={(match) => onReplace(node.key, { ...node, match })}
          segments={MATCHES.map((value) => ({ value, label: segments.matches[value] }))}
        />
        {depth > 0 && (
          <IconButton size="sm" icon={X} label={segments.removeGroup} onClick={() => onReplace(node.key, null)} />
        )}
      </div>
      <ul className="mt-3 flex flex-col gap-3">
        {node.children.map((child) => (
          <li key={child.key}>
            {child.kind === 'group' ? (
              <SegmentGroup node={child} depth={depth + 1} onReplace={onReplace} />
            ) : (
              <SegmentCondition
                condition={child.condition}
                onChange={(condition) => onReplace(child.key, { ...child, condition })}
                onRemove={() => onReplace(child.key, null)}
              />
            )}
          </li>
        ))}
      </ul>
      {node.children.length === 0 && <p className="text-sm text-muted">{segments.emptyGroups[node.match]}</p>}
      <div className="mt-3 flex flex-wrap gap-2">
        <Button size="sm" icon={Plus} onClick={() => add(newCondition())}>
          {segments.addCondition}
        </Button>
        {depth < MAX_DEPTH && (
          <Button size="sm" variant="ghost" icon={FolderPlus} onClick={() => add(newGroup('any', [newCondition()]))}>
            {segments.addGroup}
          </Button>
        )}
      </div>
    </fieldset>
  )
}
