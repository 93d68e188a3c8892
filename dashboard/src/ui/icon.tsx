/** The element of an icon; `icons.tsx` has the icons. */
import { createElement, type ReactElement, type SVGProps } from 'react'

export interface IconProps extends SVGProps<SVGSVGElement> {
  /** Width and height, 24 px by default. */
  readonly size?: number | string
}

export type IconComponent = (props: IconProps) => ReactElement

/** The elements of an icon on a square of 24 units, with their attributes. */
export type Shapes = readonly (readonly [element: string, attributes: Readonly<Record<string, string>>])[]

/** Screen readers skip it, unless it has a name. */
export function createIcon(shapes: Shapes): IconComponent {
  return ({ size = 24, children, ...others }) => (
    <svg
      xmlns="http://www.w3.org/2000/svg"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={2}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden={hasName(others) ? undefined : true}
      {...others}
    >
      {shapes.map(([element, attributes], i) => createElement(element, { key: i, ...attributes }))}
      {children}
    </svg>
  )
}

function hasName(props: object): boolean {
  return Object.keys(props).some((name) => name.startsWith('aria-') || name === 'role')
}
