/** The package has no types. A test compares its output with ours. */
declare module 'html-to-text' {
  export function compile(options: object): (html: string) => string
}
