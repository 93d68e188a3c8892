import { lazy, Suspense, type ReactNode } from 'react'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import type { CodeEditorProps } from './code-editor.tsx'

const CodeEditor = lazy(async () => ({ default: (await import('./code-editor.tsx')).CodeEditor }))

/** A code editor in a box of the given height; the box keeps its size while the editor is loaded. */
export function LazyCodeEditor({
  heightClass,
  ...props
}: CodeEditorProps & { readonly heightClass: string }): ReactNode {
  return (
    <div
      className={`overflow-hidden rounded-md border border-control bg-surface focus-within:border-accent focus-within:outline-2 focus-within:outline-accent ${heightClass}`}
    >
      <Suspense fallback={<Skeleton className="h-full w-full" />}>
        <CodeEditor {...props} />
      </Suspense>
    </div>
  )
}
