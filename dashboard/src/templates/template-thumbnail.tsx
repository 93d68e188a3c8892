/**
 * A small picture of a template: the lines and areas of its source, drawn from what is in the list already. A frame for
 * each row would render dozens of mails, and their images would be loaded.
 */
import type { ReactNode } from 'react'
import { sketchOf, type SketchPart } from './template-sketch.ts'
import type { StoredTemplate } from './draft.ts'

const PART: Record<SketchPart, string> = {
  heading: 'h-1 w-3/4 bg-ink opacity-70',
  text: 'h-0.5 w-full bg-control',
  button: 'h-1.5 w-1/2 rounded-xs bg-accent',
  image: 'h-2.5 w-full rounded-xs bg-accent-soft',
  line: 'h-px w-full bg-line-strong',
}

export function TemplateThumbnail({ template }: { readonly template: StoredTemplate }): ReactNode {
  return (
    <span
      aria-hidden="true"
      className="flex h-11 w-9 shrink-0 flex-col gap-1 overflow-hidden rounded-sm border border-line bg-surface p-1 shadow-sm"
    >
      {sketchOf(template).map((part, index) => (
        // a sketch is never reordered
        // oxlint-disable-next-line react/no-array-index-key
        <span key={index} className={`shrink-0 ${PART[part]}`} />
      ))}
    </span>
  )
}
