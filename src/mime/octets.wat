;; Passes over the octets of a text, 16 at a time where nothing changes. JavaScript takes five times as long for each,
;; with loops as with regular expressions (decision 121).
;;
;; A pass reads from `$at` up to before `$to`, writes from `$out` on and returns where the output ends. Blocks are read
;; and written whole, and what was too much is written again: 16 octets behind the input, which a pass may overwrite,
;; and behind the output belong to the memory, too. Every pass takes linear time.
;;
;; After a change: node src/mime/generate-octets-module.ts
(module
  (memory (export "memory") 128) ;; 8 MB

  ;; Results of `inspect`.
  (global $nonAscii (export "nonAscii") (mut i32) (i32.const 0))      ;; octets above 127
  (global $longest (export "longest") (mut i32) (i32.const 0))      ;; octets of the longest line, without its end
  (global $hasNul (export "hasNul") (mut i32) (i32.const 0))        ;; 1: there is a NUL
  (global $hasFrom (export "hasFrom") (mut i32) (i32.const 0))      ;; 1: a line begins with "From "

  ;; A bit for each octet of a block that is less than a limit, as unsigned numbers.
  (func $below (param $block v128) (param $limit v128) (result i32)
    (i8x16.bitmask (i8x16.lt_u (local.get $block) (local.get $limit))))

  (func $isLineEnd (param $c i32) (result i32)
    (i32.or (i32.eq (local.get $c) (i32.const 10)) (i32.eq (local.get $c) (i32.const 13))))

  (func $isCrlf (param $at i32) (param $to i32) (result i32)
    (i32.and
      (i32.eq (i32.load16_u (local.get $at)) (i32.const 0x0a0d))
      (i32.lt_u (i32.add (local.get $at) (i32.const 1)) (local.get $to))))

  (func $isFrom (param $at i32) (param $to i32) (result i32)
    (i32.and
      (i32.le_u (i32.add (local.get $at) (i32.const 5)) (local.get $to))
      (i32.and
        (i32.eq (i32.load (local.get $at)) (i32.const 0x6d6f7246)) ;; "From"
        (i32.eq (i32.load8_u offset=4 (local.get $at)) (i32.const 32)))))

  ;; Counts what decides about the transfer encoding. CR, LF and CRLF end a line.
  (func (export "inspect") (param $from i32) (param $to i32)
    (local $at i32) (local $line i32) (local $block v128) (local $ends i32) (local $end i32) (local $length i32)
    (global.set $nonAscii (i32.const 0))
    (global.set $longest (i32.const 0))
    (global.set $hasNul (i32.const 0))
    (global.set $hasFrom (call $isFrom (local.get $from) (local.get $to)))
    (local.set $at (local.get $from))
    (local.set $line (local.get $from))
    ;; octets after the input are not counted
    (v128.store (local.get $to) (i8x16.splat (i32.const 32)))
    (block $done (loop $blocks
      (br_if $done (i32.ge_u (local.get $at) (local.get $to)))
      (local.set $block (v128.load (local.get $at)))
      (global.set $nonAscii (i32.add (global.get $nonAscii) (i32.popcnt (i8x16.bitmask (local.get $block)))))
      (if (call $below (local.get $block) (i8x16.splat (i32.const 14))) (then
        (if (call $below (local.get $block) (i8x16.splat (i32.const 1))) (then (global.set $hasNul (i32.const 1))))
        (local.set $ends (i8x16.bitmask (v128.or
          (i8x16.eq (local.get $block) (i8x16.splat (i32.const 10)))
          (i8x16.eq (local.get $block) (i8x16.splat (i32.const 13))))))
        (loop $lines
          (if (local.get $ends) (then
            (local.set $end (i32.add (local.get $at) (i32.ctz (local.get $ends))))
            (local.set $ends (i32.and (local.get $ends) (i32.sub (local.get $ends) (i32.const 1))))
            (local.set $length (i32.sub (local.get $end) (local.get $line)))
            (if (i32.gt_u (local.get $length) (global.get $longest)) (then (global.set $longest (local.get $length))))
            (local.set $line (i32.add (local.get $end) (i32.const 1)))
            (if (call $isFrom (local.get $line) (local.get $to)) (then (global.set $hasFrom (i32.const 1))))
            (br $lines)))))) 
      (local.set $at (i32.add (local.get $at) (i32.const 16)))
      (br $blocks)))
    (local.set $length (i32.sub (local.get $to) (local.get $line)))
    (if (i32.gt_s (local.get $length) (global.get $longest)) (then (global.set $longest (local.get $length)))))

  ;; 1: there is no NUL, and CR and LF occur only as CRLF.
  (func (export "isStrict") (param $at i32) (param $to i32) (result i32)
    (local $block v128) (local $controls i32) (local $returns i32) (local $afterReturn i32)
    ;; octets after the input are no line ends
    (v128.store (local.get $to) (i8x16.splat (i32.const 32)))
    (block $done (loop $blocks
      (br_if $done (i32.ge_u (local.get $at) (local.get $to)))
      (local.set $block (v128.load (local.get $at)))
      (local.set $at (i32.add (local.get $at) (i32.const 16)))
      (local.set $controls (call $below (local.get $block) (i8x16.splat (i32.const 14))))
      (br_if $blocks (i32.eqz (i32.or (local.get $controls) (local.get $afterReturn))))
      (if (call $below (local.get $block) (i8x16.splat (i32.const 1))) (then (return (i32.const 0))))
      (local.set $returns (i8x16.bitmask (i8x16.eq (local.get $block) (i8x16.splat (i32.const 13)))))
      ;; each LF stands behind a CR, of which the last may be in the block before
      (if (i32.ne
        (i8x16.bitmask (i8x16.eq (local.get $block) (i8x16.splat (i32.const 10))))
        (i32.and (i32.const 0xffff) (i32.or
          (i32.shl (local.get $returns) (i32.const 1))
          (local.get $afterReturn)))) (then (return (i32.const 0))))
      (local.set $afterReturn (i32.shr_u (local.get $returns) (i32.const 15)))
      (br $blocks)))
    (i32.eqz (local.get $afterReturn)))

  ;; Writes every CRLF, bare CR and bare LF as one CRLF. At most twice the input.
  (func (export "copyLines") (param $at i32) (param $to i32) (param $out i32) (result i32)
    (local $block v128) (local $ends i32) (local $count i32)
    (block $done (loop $blocks
      (br_if $done (i32.ge_u (local.get $at) (local.get $to)))
      (local.set $block (v128.load (local.get $at)))
      (v128.store (local.get $out) (local.get $block))
      (local.set $ends (i8x16.bitmask (v128.or
        (i8x16.eq (local.get $block) (i8x16.splat (i32.const 10)))
        (i8x16.eq (local.get $block) (i8x16.splat (i32.const 13))))))
      (local.set $count (i32.ctz (i32.or (local.get $ends) (i32.const 0x10000))))
      (local.set $at (i32.add (local.get $at) (local.get $count)))
      (local.set $out (i32.add (local.get $out) (local.get $count)))
      (if (i32.gt_u (local.get $at) (local.get $to)) (then
        (local.set $out (i32.sub (local.get $out) (i32.sub (local.get $at) (local.get $to))))
        (br $done)))
      (if (i32.and (i32.lt_u (local.get $at) (local.get $to)) (i32.ne (local.get $ends) (i32.const 0))) (then
        (i32.store16 (local.get $out) (i32.const 0x0a0d)) ;; CRLF
        (local.set $out (i32.add (local.get $out) (i32.const 2)))
        (local.set $at (i32.add (local.get $at) (select (i32.const 2) (i32.const 1)
          (call $isCrlf (local.get $at) (local.get $to)))))))
      (br $blocks)))
    (local.get $out))

  ;; Relaxes whole lines (RFC 6376, 3.4.4): a run of spaces and tabs becomes one space, and none at the end of a line. A
  ;; bare LF ends a line, a bare CR does not. At most twice the input.
  (func (export "relax") (param $at i32) (param $to i32) (param $out i32) (result i32)
    (local $block v128) (local $controls i32) (local $spaces i32) (local $count i32) (local $c i32)
    ;; the last line seems to end
    (v128.store (local.get $to) (i8x16.splat (i32.const 10)))
    (block $done (loop $blocks
      (br_if $done (i32.ge_u (local.get $at) (local.get $to)))
      (local.set $block (v128.load (local.get $at)))
      (v128.store (local.get $out) (local.get $block))
      (local.set $controls (call $below (local.get $block) (i8x16.splat (i32.const 32))))
      (local.set $spaces (i8x16.bitmask (i8x16.eq (local.get $block) (i8x16.splat (i32.const 32)))))
      ;; octets that are no control, and no space before a space, before a control or at the end of the block
      (local.set $count (i32.ctz (i32.or
        (i32.or (local.get $controls) (i32.const 0x10000))
        (i32.and (local.get $spaces) (i32.shr_u
          (i32.or (i32.or (local.get $controls) (local.get $spaces)) (i32.const 0x10000)) (i32.const 1))))))
      (local.set $at (i32.add (local.get $at) (local.get $count)))
      (local.set $out (i32.add (local.get $out) (local.get $count)))
      (br_if $blocks (i32.eq (local.get $count) (i32.const 16)))
      (br_if $done (i32.ge_u (local.get $at) (local.get $to)))
      (local.set $c (i32.load8_u (local.get $at)))
      (if (i32.or (i32.eq (local.get $c) (i32.const 32)) (i32.eq (local.get $c) (i32.const 9))) (then
        (loop $run
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (local.set $c (i32.load8_u (local.get $at)))
          (br_if $run (i32.or (i32.eq (local.get $c) (i32.const 32)) (i32.eq (local.get $c) (i32.const 9)))))
        (br_if $done (i32.ge_u (local.get $at) (local.get $to)))
        (br_if $blocks (i32.eq (local.get $c) (i32.const 10)))
        (br_if $blocks (call $isCrlf (local.get $at) (local.get $to)))
        (i32.store8 (local.get $out) (i32.const 32))
        (local.set $out (i32.add (local.get $out) (i32.const 1)))
        (br $blocks)))
      (if (i32.eq (local.get $c) (i32.const 10)) (then
        (i32.store16 (local.get $out) (i32.const 0x0a0d))
        (local.set $out (i32.add (local.get $out) (i32.const 2)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $blocks)))
      (if (call $isCrlf (local.get $at) (local.get $to)) (then
        (i32.store16 (local.get $out) (i32.const 0x0a0d))
        (local.set $out (i32.add (local.get $out) (i32.const 2)))
        (local.set $at (i32.add (local.get $at) (i32.const 2)))
        (br $blocks)))
      (i32.store8 (local.get $out) (local.get $c))
      (local.set $out (i32.add (local.get $out) (i32.const 1)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br $blocks)))
    (local.get $out))

  ;; Quoted-printable (RFC 2045, 6.7) with CRLF line ends. At most four times the input.
  (func (export "quote") (param $at i32) (param $to i32) (param $out i32) (result i32)
    (local $line i32) (local $block v128) (local $others i32) (local $spaces i32) (local $count i32) (local $room i32)
    (local $c i32) (local $next i32) (local $width i32) (local $column i32)
    ;; the last line seems to end
    (v128.store (local.get $to) (i8x16.splat (i32.const 13)))
    (local.set $line (local.get $out))
    (block $done (loop $blocks
      (br_if $done (i32.ge_u (local.get $at) (local.get $to)))
      ;; "From " at the start of a line is encoded, so that no mailbox file on the way puts a ">" before it
      (if (i32.and (i32.eq (local.get $out) (local.get $line)) (call $isFrom (local.get $at) (local.get $to))) (then
        (i32.store (local.get $out) (i32.const 0x36343d)) ;; "=46"
        (local.set $out (i32.add (local.get $out) (i32.const 3)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))))
      ;; octets that stand for themselves, up to column 75
      (local.set $block (v128.load (local.get $at)))
      (v128.store (local.get $out) (local.get $block))
      (local.set $spaces (i8x16.bitmask (i8x16.eq (local.get $block) (i8x16.splat (i32.const 32)))))
      (local.set $others (i32.or
        (i32.xor (i32.const 0xffff) (call $below
          (i8x16.sub (local.get $block) (i8x16.splat (i32.const 32))) (i8x16.splat (i32.const 95))))
        (i8x16.bitmask (i8x16.eq (local.get $block) (i8x16.splat (i32.const 61))))))
      ;; a space before another octet than these may be the last of its line
      (local.set $count (i32.ctz (i32.or
        (i32.or (local.get $others) (i32.const 0x10000))
        (i32.and (local.get $spaces) (i32.shr_u (i32.or (local.get $others) (i32.const 0x10000)) (i32.const 1))))))
      (local.set $room (i32.sub (i32.const 75) (i32.sub (local.get $out) (local.get $line))))
      (local.set $room (select (local.get $room) (i32.const 0) (i32.gt_s (local.get $room) (i32.const 0))))
      (local.set $count (select (local.get $count) (local.get $room) (i32.lt_u (local.get $count) (local.get $room))))
      (local.set $at (i32.add (local.get $at) (local.get $count)))
      (local.set $out (i32.add (local.get $out) (local.get $count)))
      (br_if $blocks (i32.eq (local.get $count) (i32.const 16)))
      (br_if $done (i32.ge_u (local.get $at) (local.get $to)))
      (local.set $c (i32.load8_u (local.get $at)))
      (local.set $next (i32.load8_u offset=1 (local.get $at)))
      (if (call $isLineEnd (local.get $c)) (then
        (i32.store16 (local.get $out) (i32.const 0x0a0d))
        (local.set $out (i32.add (local.get $out) (i32.const 2)))
        (local.set $line (local.get $out))
        (local.set $at (i32.add (local.get $at) (select (i32.const 2) (i32.const 1)
          (call $isCrlf (local.get $at) (local.get $to)))))
        (br $blocks)))
      (local.set $width (i32.const 3))
      (if (i32.or (i32.eq (local.get $c) (i32.const 32)) (i32.eq (local.get $c) (i32.const 9)))
        (then (if (i32.eqz (call $isLineEnd (local.get $next))) (then (local.set $width (i32.const 1)))))
        (else (if (i32.and
          (i32.lt_u (i32.sub (local.get $c) (i32.const 33)) (i32.const 94))
          (i32.ne (local.get $c) (i32.const 61))) (then (local.set $width (i32.const 1))))))
      (local.set $column (i32.add (i32.sub (local.get $out) (local.get $line)) (local.get $width)))
      ;; the last column is for the "=" of a soft break, unless the line ends there
      (if (i32.or
        (i32.gt_u (local.get $column) (i32.const 76))
        (i32.and (i32.eq (local.get $column) (i32.const 76)) (i32.eqz (call $isLineEnd (local.get $next))))) (then
        (i32.store (local.get $out) (i32.const 0x0a0d3d)) ;; "=" CRLF
        (local.set $out (i32.add (local.get $out) (i32.const 3)))
        (local.set $line (local.get $out))
        (br $blocks)))
      (if (i32.eq (local.get $width) (i32.const 1))
        (then (i32.store8 (local.get $out) (local.get $c)))
        (else
          (i32.store8 (local.get $out) (i32.const 61))
          (i32.store8 offset=1 (local.get $out) (call $digit (i32.shr_u (local.get $c) (i32.const 4))))
          (i32.store8 offset=2 (local.get $out) (call $digit (i32.and (local.get $c) (i32.const 15))))))
      (local.set $out (i32.add (local.get $out) (local.get $width)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br $blocks)))
    (local.get $out))

  ;; Base64 (RFC 2045, 6.8): 57 octets give a line of 76 characters, and a CRLF stands between two lines. At most twice
  ;; the input, and 4.
  (func (export "encode") (param $at i32) (param $to i32) (param $out i32) (result i32)
    (local $end i32) (local $letters i32) (local $count i32)
    ;; octets after the input count as 0
    (v128.store (local.get $to) (i8x16.splat (i32.const 0)))
    (block $done (loop $lines
      (br_if $done (i32.ge_u (local.get $at) (local.get $to)))
      (local.set $end (i32.add (local.get $at) (i32.const 57)))
      (local.set $end (select (local.get $end) (local.get $to) (i32.lt_u (local.get $end) (local.get $to))))
      (local.set $count (i32.sub (local.get $end) (local.get $at)))
      (local.set $letters (local.get $out))
      (loop $blocks
        (v128.store (local.get $letters) (call $letters (v128.load (local.get $at))))
        (local.set $letters (i32.add (local.get $letters) (i32.const 16)))
        (local.set $at (i32.add (local.get $at) (i32.const 12)))
        (br_if $blocks (i32.lt_u (local.get $at) (local.get $end))))
      (local.set $at (local.get $end))
      ;; 4 for each group of 3
      (local.set $out (i32.add (local.get $out) (i32.shl
        (i32.div_u (i32.add (local.get $count) (i32.const 2)) (i32.const 3)) (i32.const 2))))
      (br_if $done (i32.eq (local.get $at) (local.get $to)))
      (i32.store16 (local.get $out) (i32.const 0x0a0d)) ;; CRLF
      (local.set $out (i32.add (local.get $out) (i32.const 2)))
      (br $lines)))
    ;; "=" for each octet that the last group lacks
    (local.set $count (i32.rem_u (local.get $count) (i32.const 3)))
    (if (i32.ne (local.get $count) (i32.const 0)) (then
      (i32.store8 (i32.sub (local.get $out) (i32.const 1)) (i32.const 61))
      (if (i32.eq (local.get $count) (i32.const 1)) (then
        (i32.store8 (i32.sub (local.get $out) (i32.const 2)) (i32.const 61))))))
    (local.get $out))

  ;; The 16 letters of 12 octets.
  (func $letters (param $octets v128) (result v128)
    (local $groups v128) (local $values v128) (local $ranges v128)
    ;; each group of 3 octets in the lower 24 bits of a lane, the first octet highest
    (local.set $groups (i8x16.swizzle (local.get $octets)
      (v128.const i8x16 2 1 0 -1 5 4 3 -1 8 7 6 -1 11 10 9 -1)))
    ;; their four values of 6 bits, the first in the lowest octet
    (local.set $values (v128.or
      (v128.or
        (v128.and (i32x4.shr_u (local.get $groups) (i32.const 18)) (i32x4.splat (i32.const 0x3f)))
        (v128.and (i32x4.shr_u (local.get $groups) (i32.const 4)) (i32x4.splat (i32.const 0x3f00))))
      (v128.or
        (v128.and (i32x4.shl (local.get $groups) (i32.const 10)) (i32x4.splat (i32.const 0x3f0000)))
        (v128.and (i32x4.shl (local.get $groups) (i32.const 24)) (i32x4.splat (i32.const 0x3f000000))))))
    ;; 13: A to Z, 0: a to z, 1 to 10: a digit, 11: +, 12: /
    (local.set $ranges (v128.or
      (i8x16.sub_sat_u (local.get $values) (i8x16.splat (i32.const 51)))
      (v128.and (i8x16.lt_u (local.get $values) (i8x16.splat (i32.const 26))) (i8x16.splat (i32.const 13)))))
    ;; what a letter is more than its value
    (i8x16.add (local.get $values) (i8x16.swizzle
      (v128.const i8x16 71 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -19 -16 65 0 0)
      (local.get $ranges))))

  ;; A hexadecimal digit in upper case.
  (func $digit (param $value i32) (result i32)
    (i32.add (local.get $value) (select (i32.const 55) (i32.const 48) (i32.gt_u (local.get $value) (i32.const 9)))))
)
