/** How a block looks on the canvas. Its texts are text: nothing in them is read as HTML, and images are not loaded. */
import { Image } from '#dashboard/src/ui/icons.tsx'
import type { CSSProperties, ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import type { Block, DocumentStyle } from './block-document.ts'
import { HEADING_SIZES, itemsOf, paragraphsOf } from './block-html.ts'
import { readableOn } from './contrast.ts'
import { readSpans } from './inline-text.ts'

interface FaceProps {
  readonly block: Block
  readonly style: DocumentStyle
}

export function BlockFace({ block, style }: FaceProps): ReactNode {
  const { type, padding, align, background, color } = block
  const look: CSSProperties = {
    padding: type === 'spacer' ? 0 : `${padding}px 24px`,
    textAlign: align,
    color: type === 'button' ? style.text : (color ?? style.text),
    background: type === 'button' ? undefined : (background ?? undefined),
    fontSize: 16,
    lineHeight: 1.5,
    overflowWrap: 'anywhere',
  }
  const Face = FACES[type]
  return (
    <div style={look}>
      <Face block={block} style={style} />
    </div>
  )
}

const FACES: Readonly<Record<Block['type'], (props: FaceProps) => ReactNode>> = {
  heading: ({ block, style }) => (
    <div style={{ fontSize: HEADING_SIZES[block.level - 1] ?? 18, fontWeight: 'bold', lineHeight: 1.25 }}>
      <Spans text={block.text} style={style} />
    </div>
  ),
  text: ({ block, style }) =>
    paragraphsOf(block.text).map((text, index) => (
      // paragraphs have no identity of their own
      // oxlint-disable-next-line react/no-array-index-key
      <p key={index} style={{ marginTop: index === 0 ? 0 : 12, whiteSpace: 'pre-line' }}>
        <Spans text={text} style={style} />
      </p>
    )),
  button: ({ block, style }) => {
    const fill = block.background ?? style.accent
    return (
      <span
        className="inline-block rounded-md px-6 py-3 font-bold"
        style={{ background: fill, color: block.color ?? readableOn(fill) }}
      >
        {block.text}
      </span>
    )
  },
  image: ImageFace,
  list: ({ block, style }) => {
    const items = itemsOf(block.text).map((text, index) => (
      // oxlint-disable-next-line react/no-array-index-key
      <li key={index}>
        <Spans text={text} style={style} />
      </li>
    ))
    return block.isNumbered ? (
      <ol className="list-decimal pl-6 text-left">{items}</ol>
    ) : (
      <ul className="list-disc pl-6 text-left">{items}</ul>
    )
  },
  divider: ({ block }) => <hr style={{ border: 0, borderTop: `1px solid ${block.color ?? '#d1d5db'}` }} />,
  spacer: ({ block }) => <div style={{ height: block.height }} />,
  columns: () => null,
  footer: ({ block, style }) => (
    <div style={{ fontSize: 13 }}>
      <Spans text={block.text} style={style} />
      {block.text !== '' && <br />}
      <span className="underline">{block.alt}</span>
    </div>
  ),
}

function ImageFace({ block }: FaceProps): ReactNode {
  const { templates } = useTexts()
  return (
    <span
      className="inline-flex max-w-full flex-col items-center justify-center gap-1 rounded-md border border-dashed border-control bg-sunken px-3 py-6 text-sm text-muted"
      style={{ width: `${block.width}%` }}
    >
      <Image size={20} aria-hidden="true" />
      <span className="max-w-full truncate">{block.alt || block.src || templates.noImage}</span>
    </span>
  )
}

function Spans({ text, style }: { readonly text: string; readonly style: DocumentStyle }): ReactNode {
  return readSpans(text).map((span, index) => (
    <span
      // spans have no identity of their own
      // oxlint-disable-next-line react/no-array-index-key
      key={index}
      style={{
        fontWeight: span.isBold ? 'bold' : undefined,
        fontStyle: span.isItalic ? 'italic' : undefined,
        color: span.href === null ? undefined : style.accent,
        textDecoration: span.href === null ? undefined : 'underline',
        whiteSpace: 'pre-line',
      }}
    >
      {span.text}
    </span>
  ))
}
