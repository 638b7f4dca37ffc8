//! Samples: what a model learns from.

use super::Random;
use crate::nn::invalid;
use crate::{DType, Error, Result};
use std::fmt;
use std::path::Path;
use tensorlib_sys as sys;

/// What a sample's input, or its target, is: a type, F32 or I32, and a shape of up to 3 dimensions. A batch has one more, the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// F32 or I32.
    pub dtype: DType,
    /// Elements in each dimension, the contiguous one first; empty for a number.
    pub shape: Vec<i64>,
}

impl Form {
    /// F32 numbers.
    pub fn f32(shape: impl Into<Vec<i64>>) -> Self {
        Self { dtype: DType::F32, shape: shape.into() }
    }

    /// I32 numbers: labels, tokens.
    pub fn i32(shape: impl Into<Vec<i64>>) -> Self {
        Self { dtype: DType::I32, shape: shape.into() }
    }

    /// How many numbers they are.
    pub fn n_elements(&self) -> usize {
        self.shape.iter().map(|n| usize::try_from(*n).unwrap_or(0)).product()
    }
}

/// Room for one sample's numbers, as many as its form has.
#[derive(Debug)]
pub enum Slot<'a> {
    /// Of F32.
    F32(&'a mut [f32]),
    /// Of I32.
    I32(&'a mut [i32]),
}

/// Samples by number: a [`DataSet`], or whatever can give them, such as windows into a long text.
pub trait Samples {
    /// How many there are.
    fn len(&self) -> usize;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What inputs and targets look like, the same for all samples.
    fn forms(&self) -> (Form, Form);

    /// Writes a sample. In training there are random numbers, the same whenever this sample comes in this epoch, to change it by; in
    /// evaluation none.
    fn write(&self, number: usize, random: Option<&mut Random>, input: Slot<'_>, target: Slot<'_>);
}

/// The numbers of many samples, one behind the other.
#[derive(Clone, Debug)]
pub struct Column {
    values: Values,
    form: Form,
}

#[derive(Clone, Debug)]
enum Values {
    F32(Vec<f32>),
    I32(Vec<i32>),
}

impl Column {
    /// F32 numbers, of this shape each sample.
    pub fn f32(shape: impl Into<Vec<i64>>, values: Vec<f32>) -> Self {
        Self { values: Values::F32(values), form: Form::f32(shape) }
    }

    /// I32 numbers, of this shape each sample.
    pub fn i32(shape: impl Into<Vec<i64>>, values: Vec<i32>) -> Self {
        Self { values: Values::I32(values), form: Form::i32(shape) }
    }

    fn n_values(&self) -> usize {
        match &self.values {
            Values::F32(values) => values.len(),
            Values::I32(values) => values.len(),
        }
    }

    fn chosen(&self, numbers: &[usize]) -> Self {
        fn chosen<T: Copy>(values: &[T], size: usize, numbers: &[usize]) -> Vec<T> {
            numbers.iter().flat_map(|i| values[i * size..(i + 1) * size].iter().copied()).collect()
        }
        let size = self.form.n_elements();
        let values = match &self.values {
            Values::F32(values) => Values::F32(chosen(values, size, numbers)),
            Values::I32(values) => Values::I32(chosen(values, size, numbers)),
        };
        Self { values, form: self.form.clone() }
    }

    fn write(&self, number: usize, slot: Slot<'_>) {
        let size = self.form.n_elements();
        let place = number * size..(number + 1) * size;
        match (&self.values, slot) {
            (Values::F32(values), Slot::F32(to)) => to.copy_from_slice(&values[place]),
            (Values::I32(values), Slot::I32(to)) => to.copy_from_slice(&values[place]),
            _ => {} // a slot is of the column's form
        }
    }
}

type Changes = Box<dyn Fn(&mut [f32], &mut Random) + Send + Sync>;

/// Samples in memory: inputs, and a target for each.
///
/// ```
/// use tensorlib::train::{Column, DataSet, Samples};
/// let points = Column::f32([2], vec![0., 0., 0., 1., 1., 0., 1., 1.]);
/// let labels = Column::i32([], vec![0, 1, 1, 0]);
/// let (train, test) = DataSet::new(points, labels)?.split_at(3)?;
/// assert_eq!((train.len(), test.len()), (3, 1));
/// # Ok::<(), tensorlib::Error>(())
/// ```
pub struct DataSet {
    inputs: Column,
    targets: Column,
    len: usize,
    changes: Option<Changes>,
}

impl DataSet {
    /// # Errors
    /// [`Error::InvalidArgument`] where numbers are left over, or there are not as many targets as inputs.
    pub fn new(inputs: Column, targets: Column) -> Result<Self> {
        let count = |column: &Column, what: &str| {
            let (values, size) = (column.n_values(), column.form.n_elements());
            if size == 0 || values % size != 0 {
                let shape = &column.form.shape;
                return Err(invalid(format!("DataSet: {values} numbers of {what} {shape:?}: a multiple is valid")));
            }
            Ok(values / size)
        };
        let (len, of_targets) = (count(&inputs, "inputs")?, count(&targets, "targets")?);
        if len != of_targets {
            return Err(invalid(format!("DataSet: {len} inputs, {of_targets} targets: as many are valid")));
        }
        Ok(Self { inputs, targets, len, changes: None })
    }

    /// Reads a text file of numbers between commas, a sample a line: the last number is its target, an I32 label. Lines that are
    /// empty or begin with `#` do not count, nor does a first line of names.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] naming the line.
    pub fn read_labelled(path: impl AsRef<Path>) -> Result<Self> {
        let table = read_table(path.as_ref())?;
        let labels = table.last.iter().map(|(line, x)| {
            if *x == x.trunc() && x.abs() < 1e6 {
                Ok(*x as i32)
            } else {
                Err(format_error(path.as_ref(), &format!("line {line}: {x}: a label, a whole number, is valid")))
            }
        });
        let labels = labels.collect::<Result<_>>()?;
        Self::new(Column::f32([table.width], table.values), Column::i32([], labels))
    }

    /// The same with a number, F32, as the target.
    ///
    /// # Errors
    /// As [`DataSet::read_labelled`].
    pub fn read_numbers(path: impl AsRef<Path>) -> Result<Self> {
        let table = read_table(path.as_ref())?;
        let targets = table.last.iter().map(|(_, x)| *x).collect();
        Self::new(Column::f32([table.width], table.values), Column::f32([1], targets))
    }

    /// The first n samples, and the others.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where there are not as many.
    pub fn split_at(&self, n: usize) -> Result<(Self, Self)> {
        if n > self.len {
            return Err(invalid(format!("DataSet::split_at: {n} of {} samples: as many or fewer are valid", self.len)));
        }
        Ok((self.chosen(0..n)?, self.chosen(n..self.len)?))
    }

    /// Those with these numbers, in this order.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a number that there is not.
    pub fn chosen(&self, numbers: impl IntoIterator<Item = usize>) -> Result<Self> {
        let numbers: Vec<usize> = numbers.into_iter().collect();
        if let Some(beyond) = numbers.iter().find(|i| **i >= self.len) {
            return Err(invalid(format!("DataSet::chosen: sample {beyond} of {}: a lower number is valid", self.len)));
        }
        let (inputs, targets) = (self.inputs.chosen(&numbers), self.targets.chosen(&numbers));
        Ok(Self { inputs, targets, len: numbers.len(), changes: None })
    }

    /// Another shape of inputs, of as many numbers: `[8, 8, 1]` for images of one channel.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another number of elements.
    pub fn with_input_shape(mut self, shape: impl Into<Vec<i64>>) -> Result<Self> {
        let form = Form { dtype: self.inputs.form.dtype, shape: shape.into() };
        if form.n_elements() != self.inputs.form.n_elements() {
            let (old, new) = (&self.inputs.form.shape, &form.shape);
            return Err(invalid(format!("DataSet: inputs {old:?} as {new:?}: a shape of as many elements is valid")));
        }
        self.inputs.form = form;
        Ok(self)
    }

    /// Changes each input in training at random: shifts, noise. F32 inputs only; others stay as they are.
    #[must_use]
    pub fn with_changes(mut self, changes: impl Fn(&mut [f32], &mut Random) + Send + Sync + 'static) -> Self {
        self.changes = Some(Box::new(changes));
        self
    }

    /// Inputs of F32, one sample behind the other; empty for others.
    pub fn inputs(&self) -> &[f32] {
        match &self.inputs.values {
            Values::F32(values) => values,
            Values::I32(_) => &[],
        }
    }

    /// Changes the inputs of F32 in place, by functions of a sample's numbers: to scale them.
    #[must_use]
    pub fn map_inputs(mut self, mut change: impl FnMut(&mut [f32])) -> Self {
        let size = self.inputs.form.n_elements();
        if let Values::F32(values) = &mut self.inputs.values {
            values.chunks_mut(size).for_each(&mut change);
        }
        self
    }

    /// Targets of F32, one sample behind the other; empty for others.
    pub fn targets(&self) -> &[f32] {
        match &self.targets.values {
            Values::F32(values) => values,
            Values::I32(_) => &[],
        }
    }

    /// Targets of I32, one sample behind the other; empty for others.
    pub fn labels(&self) -> &[i32] {
        match &self.targets.values {
            Values::I32(values) => values,
            Values::F32(_) => &[],
        }
    }
}

impl Samples for DataSet {
    fn len(&self) -> usize {
        self.len
    }

    fn forms(&self) -> (Form, Form) {
        (self.inputs.form.clone(), self.targets.form.clone())
    }

    fn write(&self, number: usize, random: Option<&mut Random>, mut input: Slot<'_>, target: Slot<'_>) {
        self.inputs.write(
            number,
            match &mut input {
                Slot::F32(to) => Slot::F32(to),
                Slot::I32(to) => Slot::I32(to),
            },
        );
        self.targets.write(number, target);
        if let (Some(changes), Some(random), Slot::F32(values)) = (&self.changes, random, input) {
            changes(values, random);
        }
    }
}

impl fmt::Debug for DataSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (inputs, targets) = (&self.inputs.form, &self.targets.form);
        let of = |form: &Form| format!("{:?} {}", form.shape, form.dtype);
        write!(f, "DataSet({} samples of {} to {})", self.len, of(inputs), of(targets))
    }
}

/// Means and deviations of columns, to give all of them the mean 0 and the deviation 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Standardiser {
    /// Of each column.
    pub means: Vec<f64>,
    /// Of each column, the root of the mean square; 1 where all numbers are the same.
    pub deviations: Vec<f64>,
}

impl Standardiser {
    /// Those of a set's inputs, or of rows of so many numbers.
    pub fn of(values: &[f32], width: usize) -> Self {
        let rows = || values.chunks_exact(width.max(1));
        let n = rows().len().max(1) as f64;
        let mean_of = |term: &dyn Fn(usize, f64) -> f64| -> Vec<f64> {
            (0..width).map(|c| rows().map(|row| term(c, f64::from(row[c]))).sum::<f64>() / n).collect()
        };
        let means = mean_of(&|_, x| x);
        let squares = mean_of(&|c, x| (x - means[c]).powi(2));
        let deviations = squares.into_iter().map(|v| if v > 0. { v.sqrt() } else { 1. }).collect();
        Self { means, deviations }
    }

    /// Changes a row.
    pub fn apply(&self, row: &mut [f32]) {
        for (x, (mean, deviation)) in row.iter_mut().zip(self.means.iter().zip(&self.deviations)) {
            *x = ((f64::from(*x) - mean) / deviation) as f32;
        }
    }
}

/// A file's numbers: all but the last of each line, and the last ones with the lines' numbers.
struct Table {
    width: i64,
    values: Vec<f32>,
    last: Vec<(usize, f32)>,
}

fn read_table(path: &Path) -> Result<Table> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        let message = format!("DataSet: {}: cannot be read: {e}", path.display());
        Error::new(sys::TL_STATUS_IO.0, message, Vec::new())
    })?;
    let mut table = Table { width: 0, values: Vec::new(), last: Vec::new() };
    let mut may_be_names = true;
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#')) {
        let fields: Vec<_> = line.split(',').map(str::trim).collect();
        let numbers: std::result::Result<Vec<f32>, _> = fields.iter().map(|field| field.parse()).collect();
        let is_first = std::mem::take(&mut may_be_names);
        let Ok(mut numbers) = numbers else {
            if is_first && fields.iter().all(|field| field.parse::<f32>().is_err()) {
                continue;
            }
            return Err(format_error(path, &format!("line {}: numbers between commas are valid", i + 1)));
        };
        let last = numbers.pop().unwrap_or_default();
        let width = numbers.len() as i64;
        if table.last.is_empty() {
            table.width = width;
        }
        if width != table.width || width == 0 {
            let (found, wanted) = (width + 1, table.width.max(1) + 1);
            return Err(format_error(path, &format!("line {}: {found} numbers: {wanted} are valid", i + 1)));
        }
        table.values.extend(numbers);
        table.last.push((i + 1, last));
    }
    if table.last.is_empty() {
        return Err(format_error(path, "no samples"));
    }
    Ok(table)
}

fn format_error(path: &Path, what: &str) -> Error {
    Error::new(sys::TL_STATUS_FORMAT.0, format!("DataSet: {}: {what}", path.display()), Vec::new())
}
