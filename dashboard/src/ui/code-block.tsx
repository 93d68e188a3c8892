import { WrapText } from './icons.tsx'
import { useState, type ReactNode } from 'react'
import { cx } from './class-names.ts'
import { CopyButton } from './copy-button.tsx'
import { IconButton } from './icon-button.tsx'
import { useUiTexts } from './ui-texts.ts'

export interface CodeBlockProps {
  text: string
  /** A name above the text: `curl`, `Headers`. */
  title?: string | undefined
  isWrapped?: boolean | undefined
  hasLineNumbers?: boolean | undefined
  /** Tallest height before it scrolls; a class. */
  heightClass?: string | undefined
  /** Marks parts of a line. */
  renderLine?: ((line: string, index: number) => ReactNode) | undefined
}

/** Source, headers, a conversation: monospaced text that can be copied and wrapped. */
export function CodeBlock(props: CodeBlockProps) {
  const { text, title, isWrapped = false, hasLineNumbers = false, heightClass = 'max-h-96', renderLine } = props
  const texts = useUiTexts()
  const [isWrapping, setWrapping] = useState(isWrapped)
  const isPlain = renderLine === undefined && !hasLineNumbers
  return (
    <div className="min-w-0 overflow-hidden rounded-lg border border-line bg-sunken">
      <div className="flex h-9 items-center justify-between gap-2 border-b border-line pr-1 pl-3">
        <span className="truncate text-sm font-medium text-muted">{title}</span>
        <span className="flex shrink-0">
          <IconButton
            size="sm"
            icon={WrapText}
            label={texts.wrapLines}
            aria-pressed={isWrapping}
            className={cx(isWrapping && 'text-accent-text')}
            onClick={() => setWrapping(!isWrapping)}
          />
          <CopyButton text={text} />
        </span>
      </div>
      <pre
        tabIndex={0}
        aria-label={title}
        className={cx(
          'overflow-auto p-3 font-mono text-xs leading-5 text-ink focus-visible:outline-offset-[-2px]',
          heightClass,
          isWrapping && 'break-words whitespace-pre-wrap',
        )}
      >
        {isPlain
          ? text
          : text.split('\n').map((line, index) => (
              <span key={index} className="flex">
                {hasLineNumbers && (
                  <span aria-hidden="true" className="mr-3 w-8 shrink-0 text-right text-faint select-none">
                    {index + 1}
                  </span>
                )}
                <span className="min-w-0 grow">{renderLine?.(line, index) ?? line}</span>
                {'\n'}
              </span>
            ))}
      </pre>
    </div>
  )
}
